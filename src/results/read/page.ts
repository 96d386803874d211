/** A page: rows of one response, known by where it starts and how many rows it has before any of them is read. */
import type { ResultSet } from '../../domain/result-set.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import type { Chunk, ChunkSize } from './part-reader.ts';

/** What is to be read, and for whom. */
export interface ReadRequest {
  readonly executionId: string;
  readonly plan: ReadPlan;
  readonly resultSet: ResultSet;
  /** Keys take turns. */
  readonly keyId: string;
  /** Is told in a few words how the rows are found, and why so. */
  readonly tellWay: (way: string) => void;
}

/** The rows of an answer, before they are read. */
export interface PageOfRows {
  readonly columns: readonly ProjectedColumn[];
  readonly offset: number;
  readonly rowCount: number;
  /** Rows follow after this page. */
  readonly more: boolean;
  /** How many rows the filter keeps in all, where that is known. */
  readonly filteredRowCount: number | undefined;
  /** The answer is held in memory and sent at once; a larger one is an export, sent as it is read. */
  readonly small: boolean;
  /** Reads the rows, in order. Each call reads them again.
   * @param skipped sizes of the first chunks, known from an earlier pass: these come without bytes
   * @throws what a read throws, also after some chunks */
  chunks(signal: AbortSignal, skipped?: readonly ChunkSize[]): AsyncGenerator<Chunk>;
  /** Gives back what the page holds on to. */
  release(): void;
}

/** The same chunks. The page is released when its last chunk has been taken, or when the reader gives up. */
export async function* releaseAfter<T>(page: Pick<PageOfRows, 'release'>, chunks: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* chunks;
  } finally {
    page.release();
  }
}
