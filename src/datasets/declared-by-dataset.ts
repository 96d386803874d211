/** What of a curated dataset's query only its declaration may change: the next start would set it back. */
import { isDeepStrictEqual } from 'node:util';
import type { Query, QueryChanges } from '../domain/query.ts';
import type { Dataset } from './dataset.ts';
import { isCurated } from './register.ts';

const DECLARED = {
  name: 'its name',
  sql: 'its SQL',
  parameters: 'its parameters',
  schedule: 'its schedule',
  columnDescriptions: 'the descriptions of its columns',
} as const;

/**
 * Why these changes are not made; undefined when the query is no dataset's, or of one that is declared no more, or nothing is changed that a
 * declaration says.
 */
export async function declaredChangeProblem(
  query: Pick<Query, 'id' | 'owner' | keyof typeof DECLARED>,
  changes: QueryChanges,
  { datasets }: { readonly datasets: () => Promise<readonly Pick<Dataset, 'queryId'>[]> },
): Promise<string | undefined> {
  if (!isCurated(query)) return undefined;
  const fields = Object.keys(DECLARED) as (keyof typeof DECLARED)[];
  // A client may send back all that it was told.
  const changed = fields.filter((field) => field in changes && !isDeepStrictEqual(changes[field], query[field]));
  const names: string[] = changed.map((field) => DECLARED[field]);
  if (changes.visibility === 'private') names.push('that it is public');
  if (names.length === 0) return undefined;
  if (!(await datasets()).some(({ queryId }) => queryId === query.id)) return undefined;
  return `query ${query.id} is a curated dataset: ${names.join(', ')} would be set back at the next start; change the dataset's declaration (dataset.json and query.sql of one of your own), and start the service again; description, tags and archiving may be changed here`;
}
