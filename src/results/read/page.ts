/** A page: the rows of one response. Where it starts and how many rows it has is known before any row is read. */
import { type ResultSet, ROW_GROUP_ROWS } from '../../domain/result-set.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import type { Chunk, ChunkSize } from './chunk.ts';

/** What to read, and for whom. */
export interface ReadRequest {
  readonly executionId: string;
  /** What views of the rows are known by, where they are not those of the execution's result. */
  readonly rowsOf?: string;
  readonly plan: ReadPlan;
  readonly resultSet: ResultSet;
  /** Keys take turns in every queue. */
  readonly keyId: string;
  /** Told in a few words how the rows are found, and why. */
  readonly tellWay: (way: string) => void;
}

/** The rows of an answer, before they are read. */
export interface PageOfRows {
  readonly columns: readonly ProjectedColumn[];
  readonly offset: number;
  readonly rowCount: number;
  /** What the page costs, where it is known before the rows are read. */
  readonly datapoints: number | undefined;
  /** Rows follow after this page. */
  readonly more: boolean;
  /** The number of rows that the filter keeps in all, where it is known. */
  readonly filteredRowCount: number | undefined;
  /** True: the answer is held in memory and sent at once. False: it is an export, sent while it is read. */
  readonly small: boolean;
  /**
   * Reads the rows in order. Each call reads them again.
   * @param skipped of the first rows, which are not to be read: they come as one chunk without bytes
   * @throws what a read throws, also after some chunks
   */
  chunks(signal: AbortSignal, skipped?: ChunkSize): AsyncGenerator<Chunk>;
  /** To be asked when the rows have been read: whether all came from row files. Absent where that is not known. */
  readonly wasLight?: () => boolean;
  /** Reads the rows that follow ahead, for a client that walks on. Absent where that would win nothing. */
  readonly readOn?: () => void;
  /** Releases what the page holds. */
  release(): void;
}

/** Whether a page of so many rows needs most of what is decoded for it. Row groups are decoded whole; a short page needs a part of one. */
export function isLongPage(rowCount: number): boolean {
  return rowCount >= ROW_GROUP_ROWS;
}

/** The same chunks. The page is released after the last chunk, or when the reader gives up. */
export async function* releaseAfter<T>(page: Pick<PageOfRows, 'release'>, chunks: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* chunks;
  } finally {
    page.release();
  }
}
