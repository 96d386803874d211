/**
 * The rows of a statement as files of JSON on disk, each one list of rows, in the order in which they came: segments as they were
 * fetched, and rows that came with answers joined in compressed files. What all may take on disk is bounded.
 */
import { createWriteStream } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, type ZstdCompress } from 'node:zlib';
import { writeAll } from '../../files/write-all.ts';
import { EngineError } from '../engine.ts';
import { type Coordinator, Unreachable } from './coordinator.ts';
import type { Segment } from './statement-protocol.ts';

/** Of rows as they came, in one file. */
const JOINED_BYTES_MAX = 256_000_000;
/** Its time is spent elsewhere, so the fastest level. */
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const FETCHES_MAX = 4;

export interface SpoolOptions {
  /** Absolute; of this spool alone. */
  readonly folder: string;
  /** Of all files together. */
  readonly bytesMax: number;
}

export class RowSpool {
  readonly #options: SpoolOptions;
  readonly #paths: string[] = [];
  #bytes = 0;
  #rowCount = 0;
  #joining: JoinedRows | undefined;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** As the coordinator counted them. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** @param rows a list as JSON @throws EngineError beyond the bytes */
  async addRows(rows: Buffer, rowCount: number): Promise<void> {
    if (rowCount === 0) return;
    this.#joining ??= new JoinedRows(this.#nextPath(true));
    const joined = this.#joining;
    await joined.add(rows);
    this.#rowCount += rowCount;
    this.#requireWithin(joined.writtenBytes);
    if (joined.takenBytes >= JOINED_BYTES_MAX) await this.#endJoining();
  }

  /**
   * Fetches the segments, some at a time, and tells the coordinator that it may delete them.
   * @throws as `Coordinator.ask` does; EngineError beyond the bytes
   */
  async addSegments(segments: readonly Segment[], coordinator: Coordinator, signal: AbortSignal): Promise<void> {
    await this.#endJoining();
    for (let first = 0; first < segments.length; first += FETCHES_MAX) {
      const some = segments.slice(first, first + FETCHES_MAX);
      this.#requireWithin(some.reduce((sum, { bytes }) => sum + bytes, 0));
      const stored = some.map(async (segment) => {
        const path = this.#nextPath(segment.isCompressed);
        if (segment.kind === 'inline') await writeFile(path, segment.data);
        else await fetchSegment(segment, path, coordinator, signal);
      });
      const failed = (await Promise.allSettled(stored)).find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      for (const { bytes, rowCount } of some) {
        this.#bytes += bytes;
        this.#rowCount += rowCount;
      }
    }
  }

  /** @returns absolute paths, in order; nothing may be added any more */
  async finish(): Promise<readonly string[]> {
    await this.#endJoining();
    return this.#paths;
  }

  /** Stops writing; the files stay for whoever removes the folder. */
  async abandon(): Promise<void> {
    await this.#endJoining().catch(() => undefined);
  }

  async #endJoining(): Promise<void> {
    const joined = this.#joining;
    this.#joining = undefined;
    if (joined === undefined) return;
    await joined.end();
    this.#bytes += joined.writtenBytes;
    this.#requireWithin(0);
  }

  #nextPath(isCompressed: boolean): string {
    const path = join(
      this.#options.folder,
      `${String(this.#paths.length).padStart(8, '0')}.json${isCompressed ? '.zst' : ''}`,
    );
    this.#paths.push(path);
    return path;
  }

  #requireWithin(moreBytes: number): void {
    const { bytesMax } = this.#options;
    if (this.#bytes + moreBytes <= bytesMax) return;
    throw new EngineError('result_limit', `the rows take more than ${bytesMax} bytes on disk (QRS_ENGINE_RESULT_MAX)`);
  }
}

/** A file of rows that came in several lists. */
class JoinedRows {
  takenBytes = 0;
  writtenBytes = 0;
  readonly #compressor: ZstdCompress = createZstdCompress(LEVEL);
  readonly #written: Promise<void>;
  #failure: unknown;

  constructor(path: string) {
    const count = async function* (this: JoinedRows, chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        this.writtenBytes += chunk.length;
        yield chunk;
      }
    };
    this.#written = pipeline(this.#compressor, count.bind(this), createWriteStream(path, { mode: 0o600 }));
    this.#written.catch((error: unknown) => {
      this.#failure = error;
    });
  }

  async add(rows: Buffer): Promise<void> {
    await this.#write(this.takenBytes === 0 ? '[' : ',');
    await this.#write(rows.subarray(1, -1));
    this.takenBytes += rows.length;
  }

  async end(): Promise<void> {
    this.#compressor.end(']');
    await this.#written;
  }

  async #write(bytes: string | Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const { promise, resolve } = Promise.withResolvers<void>();
    // Called once the bytes are compressed, so that no more than these wait.
    this.#compressor.write(bytes, () => resolve());
    await Promise.race([promise, this.#written]);
    if (this.#failure !== undefined) throw this.#failure;
  }
}

type SpooledSegment = Extract<Segment, { readonly kind: 'spooled' }>;

/** What is not whole is fetched again. The address may be anybody's, such as a bucket's, so it is not told who asks. */
async function fetchSegment(
  segment: SpooledSegment,
  path: string,
  coordinator: Coordinator,
  signal: AbortSignal,
): Promise<void> {
  const { uri, ackUri, headers, bytes } = segment;
  const coming = `${path}.coming`;
  await coordinator.ask(
    { method: 'GET', url: addressOf(uri), headers, signed: false },
    async (answer) => {
      await using file = await open(coming, 'w', 0o600);
      let arrived = 0;
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        if (arrived + chunk.length <= bytes) await writeAll(file, chunk, arrived);
        arrived += chunk.length;
        if (arrived > bytes) break;
      }
      if (arrived !== bytes) throw new Unreachable(`a segment of ${bytes} bytes came with ${arrived}`);
    },
    signal,
  );
  await rename(coming, path);
  // Trino deletes what nobody has taken after a while, too.
  await coordinator
    .askOnce(
      { method: 'GET', url: addressOf(ackUri), headers, signed: false },
      async (answer) => void answer.resume(),
      signal,
    )
    .catch(() => undefined);
  await rm(coming, { force: true });
}

function addressOf(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new EngineError('engine_error', 'Trino says that rows lie at an address that is none');
}
