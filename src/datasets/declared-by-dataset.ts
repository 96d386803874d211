/** What of a curated dataset's query only its declaration may change: the next start would set it back. */
import type { Query, QueryChanges } from '../domain/query.ts';
import type { Dataset } from './dataset.ts';
import { isCurated } from './register.ts';

const DECLARED: Readonly<Partial<Record<keyof QueryChanges, string>>> = {
  name: 'its name',
  sql: 'its SQL',
  parameters: 'its parameters',
  schedule: 'its schedule',
  columnDescriptions: 'the descriptions of its columns',
};

/**
 * Why these changes are not made; undefined when the query is no dataset's, or of one that is declared no more, or nothing is changed that a
 * declaration says.
 */
export async function declaredChangeProblem(
  query: Pick<Query, 'id' | 'owner'>,
  changes: QueryChanges,
  { datasets }: { readonly datasets: () => Promise<readonly Pick<Dataset, 'queryId'>[]> },
): Promise<string | undefined> {
  if (!isCurated(query)) return undefined;
  const names = Object.entries(DECLARED).flatMap(([field, name]) => (field in changes ? [name] : []));
  if (changes.visibility === 'private') names.push('that it is public');
  if (names.length === 0) return undefined;
  if (!(await datasets()).some(({ queryId }) => queryId === query.id)) return undefined;
  return `query ${query.id} is a curated dataset: ${names.join(', ')} would be set back at the next start; change the dataset's declaration (dataset.json and query.sql of one of your own), and start the service again; description, tags and archiving may be changed here`;
}
