/** Makes the difference of two results, once for all who ask for it, as parts on disk under the bound of everything derived. */
import { allRowsOf, type Part, type ResultSet, ROW_GROUP_ROWS, rowGroupRowsFor } from '../../domain/result-set.ts';
import { type DuckDb, isOutOfMemory, type Row } from '../../duckdb/duckdb.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ResultStore } from '../../store/result-store.ts';
import { compileChangeCounts, compileDiff } from '../compile/diff.ts';
import { projectAll } from '../compile/row-encoding.ts';
import { madeIdentity } from '../derived/views/made-identity.ts';
import { ROW_GROUP_BYTES_AIM, readWritten, writeViewParts } from '../derived/views/materialize-view.ts';
import type { MakeView, OpenView } from '../derived/views/view-cache.ts';
import { openAll } from '../limits/open-all.ts';
import { columnsOfDiff, type DiffColumns } from '../plan/diff-columns.ts';
import { asHeavyWork } from '../read/heavy-work.ts';
import type { ReadDeps } from '../read/open-page.ts';

/** One of the two results. */
export interface DiffSide {
  readonly executionId: string;
  readonly resultSet: ResultSet;
}

export interface DiffRequest {
  readonly from: DiffSide;
  readonly to: DiffSide;
  readonly columns: DiffColumns;
}

/** @throws RequestError overloaded · read_timeout · result_damaged · execution_not_found; the signal's reason */
export async function openDiff(
  request: DiffRequest,
  keyId: string,
  { views, store, limiter, leases }: Pick<ReadDeps, 'views' | 'store' | 'limiter' | 'leases'>,
  signal: AbortSignal,
): Promise<OpenView> {
  const { from, to, columns } = request;
  const identity = madeIdentity('diff', [from.executionId, to.executionId, columns.compared, columns.key]);
  const open = () => views.getMade(identity, makeDiff(request, store), keyId, signal);
  if (views.hasMade(identity)) return await open();
  const executionIds = [from.executionId, to.executionId];
  return await asHeavyWork({ executionIds, keyId }, { limiter, leases }, signal, open);
}

function makeDiff({ from, to, columns }: DiffRequest, store: Pick<ResultStore, 'open'>): MakeView {
  return async (duckDb, destination, signal) => {
    await using objects = new AsyncDisposableStack();
    const open = (part: Part, opening: AbortSignal) => store.open(part, allRowsOf(part), opening);
    const before = from.resultSet.parts;
    const parts = [...before, ...to.resultSet.parts];
    const { paths, during } = await openAll(parts, open, objects, signal);
    const sources = { from: paths.slice(0, before.length), to: paths.slice(before.length) };
    const rowGroupRows = rowGroupRowsFor(parts, ROW_GROUP_ROWS, ROW_GROUP_BYTES_AIM);
    const write = async (path: string) => {
      const statement = compileDiff(columns, sources, { path, rowGroupRows });
      const [written] = await during(() => queryInMemory(duckDb, statement, signal));
      return Number(written?.[0]);
    };
    const made = columnsOfDiff(columns);
    const { files, ...rows } = await writeViewParts(duckDb, { columns: projectAll(made), write }, destination, signal);
    const counting = compileChangeCounts(files.map(({ path }) => path));
    const changes = files.length === 0 ? [] : await readWritten(files, () => duckDb.query(counting, signal));
    return {
      resultSet: { columns: made, truncated: false, ...rows },
      files,
      counts: Object.fromEntries(changes.map(([change, count]) => [String(change), Number(count)])),
    };
  };
}

/** By all threads, or by one where they have no memory for it together. @throws RequestError overloaded */
async function queryInMemory(duckDb: DuckDb, statement: Statement, signal: AbortSignal): Promise<readonly Row[]> {
  try {
    return await duckDb.query(statement, signal).catch(async (error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
      return await duckDb.queryByOneThread(statement, signal);
    });
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    throw new RequestError(
      'overloaded',
      'there is not enough memory, or disk for what does not fit into it, to compare these results (QRS_HEAVY_MEMORY, QRS_TEMP_MAX)',
      { cause: error },
    );
  }
}
