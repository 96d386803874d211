/**
 * Standard output and standard error where they are files. Node's stream for them (SyncWriteStream) takes a write for done of which the
 * disk took a part, as a disk does whose room ends in the middle: the rest is missing, and nothing says so.
 */
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

type Written = (error?: Error | null) => void;

/** Has every byte written, or the stream fail with what the disk says to the rest. Pipes and terminals do so by themselves. */
export function writeWhole(stream: Writable & { readonly fd: number }): void {
  if (stream instanceof Socket) return;
  const { fd } = stream;
  stream._write = (bytes: Uint8Array, _encoding: BufferEncoding, done: Written) => {
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    } catch (error) {
      return done(error as Error);
    }
    done();
  };
}
