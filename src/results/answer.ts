/** What the pipeline answers: bytes, or where they come from, and what HTTP is to say of them. */
import type { Execution } from '../domain/execution.ts';
import type { ByteChunks } from './read/byte-chunks.ts';
import type { ByteSlice } from './request/byte-range.ts';

export interface Answer {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent where the same request may be answered in other bytes. */
  readonly etag?: string;
  /** Its bytes are compressed already: to be sent as they are. */
  readonly compressed?: true;
  readonly body: AnswerBody;
  /** Until when the same request has this answer. Absent where that is not known, or the answer does not come from memory. */
  readonly terms?: AnswerTerms;
}

/** While both are as they are, the same request has the same answer. */
export interface AnswerTerms {
  readonly catalogVersion: number | undefined;
  /** It may expire. */
  readonly execution: Execution;
}

export type AnswerBody =
  /** The client has it already: 304. */
  | { readonly kind: 'unchanged' }
  /** The client has asked for the head alone, and nothing was read for it. */
  | { readonly kind: 'head'; readonly size: AnswerSize | undefined }
  | {
      readonly kind: 'whole';
      readonly byteChunks: ByteChunks;
      /** Nobody else has these bytes, or will: their memory is the receiver's. */
      readonly isOwn?: boolean;
    }
  /** A file. Either `chunks` is called, once, for any of its bytes, or `release`. */
  | {
      readonly kind: 'file';
      readonly size: AnswerSize;
      readonly chunks: (slice: ByteSlice) => AsyncGenerator<Uint8Array>;
      readonly release: () => Promise<void>;
    }
  /** Chunks, whose memory belongs to the receiver. */
  | {
      readonly kind: 'stream';
      readonly chunks: AsyncGenerator<Uint8Array>;
      /** Of the whole answer, where a pass over it has shown it. */
      readonly size: AnswerSize | undefined;
    }
  /** Some bytes of the answer: 206. */
  | {
      readonly kind: 'partial';
      readonly chunks: AsyncGenerator<Uint8Array>;
      readonly slice: ByteSlice;
      readonly size: AnswerSize;
    };

export interface AnswerSize {
  readonly bytes: number;
  /** Base64; undefined when nobody has wanted it. */
  readonly sha256: string | undefined;
}

/** All bytes of an answer to a request that had no headers. Whoever leaves the loop ends what is read for it. */
export async function* bytesOf(body: AnswerBody): AsyncGenerator<Uint8Array> {
  if (body.kind === 'whole') yield* body.byteChunks;
  else if (body.kind === 'stream') yield* body.chunks;
  else if (body.kind === 'file') yield* body.chunks({ from: 0, to: body.size.bytes });
  else throw new Error(`an answer to a request without headers is ${body.kind}`);
}
