/** What an answer is made from: the execution and its result as the reader is to see them, a page of its rows, the next page. */
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import type { Spelling } from '../plan/read-plan.ts';
import type { ByteChunks } from '../read/byte-chunks.ts';
import type { PageOfRows } from '../read/page.ts';
import type { Chunk } from '../read/part-reader.ts';
import type { NextPage } from './next-page.ts';

export interface AnswerSource {
  readonly execution: Execution;
  /** As the reader is to see it. */
  readonly state: ExecutionState;
  readonly resultSet: ResultSet;
  readonly page: PageOfRows;
  readonly next: NextPage | undefined;
  readonly spelling: Spelling;
  /** To be said in the body too. Only where it was asked for: else it may be known once and not another time, in the same bytes. */
  readonly filteredRowCount: number | undefined;
}

/** With the encoded rows. An encoder is a pure function of it. */
export type SourceWithRows = AnswerSource & { readonly chunks: AsyncIterable<Chunk> };

/** Makes an answer's segments from the page's chunks: one segment for each chunk, perhaps one more at the end. */
export type Encode = (chunks: AsyncIterable<Chunk>) => AsyncGenerator<ByteChunks>;
