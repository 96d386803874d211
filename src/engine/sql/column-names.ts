/** What the columns of a query's result may be called. */
import { EngineError } from '../engine.ts';
import { placeIn } from './bind-parameters.ts';

/** @throws EngineError where two have one name: results and Parquet find columns without regard to case */
export function requireOwnNames(names: readonly string[], sql: string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name.toLowerCase())) {
      const message = `two columns are called ${JSON.stringify(name)}: give each a name of its own with AS`;
      throw new EngineError('syntax_error', message, placeIn(sql, 0));
    }
    seen.add(name.toLowerCase());
  }
}
