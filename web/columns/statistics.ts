/** Loads the statistics of columns, a few at a time, so that the first appear soon. */
import { useEffect, useState } from 'preact/hooks';
import { request } from '../api/client.ts';
import { type Digits, type ExactJson, type ExactObject, parseExact } from '../api/exact-json.ts';
import { columnsText } from '../narrow/columns-text.ts';

export interface ColumnStatistics {
  readonly name: string;
  readonly type: string;
  readonly row_count: Digits;
  readonly null_count: Digits;
  readonly distinct_count?: Digits;
  readonly distinct_is_exact?: boolean;
  readonly min?: ExactJson;
  readonly max?: ExactJson;
  readonly mean?: Digits;
  readonly standard_deviation?: Digits;
  readonly shortest?: Digits;
  readonly longest?: Digits;
  readonly top?: readonly TopValue[];
  readonly histogram?: readonly Bin[];
}

export interface TopValue {
  readonly value: ExactJson;
  readonly count: Digits;
}

export interface Bin {
  /** A number, or a time as text. */
  readonly from: ExactJson;
  readonly to: ExactJson;
  readonly count: Digits;
}

const COLUMNS_AT_ONCE = 4;

export interface LoadedStatistics {
  /** By column name; only those that have arrived. */
  readonly columns: ReadonlyMap<string, ColumnStatistics>;
  readonly error?: unknown;
}

export function useStatistics(executionId: string, names: readonly string[]): LoadedStatistics {
  const [loaded, setLoaded] = useState<LoadedStatistics>({ columns: new Map() });
  useEffect(() => {
    const controller = new AbortController();
    const load = async () => {
      for (let from = 0; from < names.length; from += COLUMNS_AT_ONCE) {
        const columns = await statisticsOf(executionId, names.slice(from, from + COLUMNS_AT_ONCE), controller.signal);
        setLoaded((before) => ({
          columns: new Map([...before.columns, ...columns.map((one) => [one.name, one] as const)]),
        }));
      }
    };
    load().catch((error: unknown) => {
      if (!controller.signal.aborted) setLoaded((before) => ({ ...before, error }));
    });
    return () => controller.abort();
  }, [executionId]);
  return loaded;
}

async function statisticsOf(
  executionId: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly ColumnStatistics[]> {
  // The page tells the visitor that the result is truncated.
  const parameters = { columns: columnsText(names), allow_partial_results: 'true' };
  const response = await request(`/v1/execution/${executionId}/statistics`, { parameters, signal });
  return (parseExact(await response.text()) as ExactObject).columns as unknown as readonly ColumnStatistics[];
}
