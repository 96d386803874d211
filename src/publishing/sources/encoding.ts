/** Text of another encoding than UTF-8, written as UTF-8 to a file of its own before anything reads it. */
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { endedBy } from '../../domain/or-aborted.ts';
import { PublishError } from '../publish-error.ts';
import type { StagedWrites } from '../staging-budget.ts';

export const ENCODINGS = ['utf-8', 'utf-16', 'utf-16le', 'utf-16be', 'latin-1', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface EncodedText {
  readonly path: string;
  /** Its first bytes. */
  readonly head: Buffer;
  readonly encoding: Exclude<Encoding, 'utf-8'>;
}

/**
 * Nearly any bytes are some UTF-16, and what is another text, or has the other end first, becomes signs from all over Unicode. A table has commas,
 * quotes or line ends, which are none of those.
 */
const ASCII = /[\x01-\x7f]/;

/** @throws PublishError when the bytes are not of the encoding; the signal's reason once it is aborted */
export async function transcode(
  { path, head, encoding }: EncodedText,
  { destination, staged }: { readonly destination: string; readonly staged: StagedWrites },
  signal: AbortSignal,
): Promise<void> {
  const decode = decoderOf(encoding, head);
  const taken = async (text: string) => {
    await staged.take(Buffer.byteLength(text));
    return text;
  };
  async function* decoded(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
    let hasAscii = false;
    for await (const chunk of chunks) {
      const text = decode(chunk);
      hasAscii ||= ASCII.test(text);
      yield await taken(text);
    }
    yield await taken(decode(undefined));
    if (hasAscii || !encoding.startsWith('utf-16') || head.length === 0) return;
    const why = 'read as that, it has no character of ASCII, and so no line end';
    throw new PublishError(`the text is not ${encoding}: ${why}`);
  }
  await endedBy(signal, pipeline(createReadStream(path), decoded, createWriteStream(destination), { signal }));
}

/** Decodes one piece after another; undefined ends the text. */
function decoderOf(encoding: Exclude<Encoding, 'utf-8'>, head: Buffer): (chunk: Buffer | undefined) => string {
  // The platform's decoder takes latin1 for Windows-1252, which has other characters from 0x80 to 0x9F.
  if (encoding === 'latin-1') return (chunk) => chunk?.toString('latin1') ?? '';
  const bigEndian = head[0] === 0xfe && head[1] === 0xff;
  const label = encoding === 'utf-16' ? (bigEndian ? 'utf-16be' : 'utf-16le') : encoding;
  const decoder = new TextDecoder(label, { fatal: true });
  return (chunk) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      throw new PublishError(`the text is not ${encoding}`);
    }
  };
}
