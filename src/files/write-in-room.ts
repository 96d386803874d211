/** A file that is written from a stream: where a write finds the disk full, what can be had again makes room for it. */
import { close, createWriteStream, open, type WriteStream, write } from 'node:fs';
import { promisify } from 'node:util';
import { DiskRoom, withRoom } from './disk-room.ts';

const writePart = promisify(write);

type Written = (error: unknown, bytesWritten?: number, bytes?: Uint8Array) => void;
/** As Node's streams call `write`. */
type Write = [fd: number, bytes: Uint8Array, offset: number, length: number, position: number | null, done: Written];

/** @param room none is made when left out */
export function writeInRoom(path: string, room = new DiskRoom(), flags = 'w'): WriteStream {
  const writeOrMakeRoom = (...[fd, bytes, offset, length, position, done]: Write) => {
    const work = () => writePart(fd, bytes, offset, length, position);
    withRoom(room, work, length).then(({ bytesWritten }) => done(null, bytesWritten, bytes), done);
  };
  return createWriteStream(path, { flags, fs: { open, close, write: writeOrMakeRoom } });
}
