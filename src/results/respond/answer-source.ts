/** What an answer is made from: the execution and its result, a page of its rows, and the next page. */
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import type { Spelling } from '../plan/read-plan.ts';
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { Chunk } from '../read/chunk.ts';
import type { PageOfRows } from '../read/page.ts';
import type { NextPage } from './next-page.ts';

export interface AnswerSource {
  readonly execution: Execution;
  /** The state that the reader is shown, see partial-result.ts. */
  readonly state: ExecutionState;
  readonly resultSet: ResultSet;
  readonly page: PageOfRows;
  readonly next: NextPage | undefined;
  readonly spelling: Spelling;
  /**
   * Written in the body, and only when it was asked for: it is not always known, and the same request must have the same bytes.
   */
  readonly filteredRowCount: number | undefined;
  /** What `result.metadata` has besides. */
  readonly metadata: object | undefined;
}

/** The rows of a page, encoded: as they are read, or all of them. */
export type RowChunks = AsyncIterable<Chunk> | Iterable<Chunk>;

/** An answer's source and its encoded rows. An encoder is a pure function of both. */
export type SourceWithRows = AnswerSource & { readonly chunks: RowChunks };

/** Makes an answer's segments from the page's chunks: one for each chunk, and perhaps one more at the end. */
export type Encode = (chunks: RowChunks) => AsyncGenerator<ByteChunks>;
