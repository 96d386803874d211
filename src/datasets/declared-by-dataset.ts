/** What of a curated dataset's query only its declaration may change: the next start would set it back. */
import type { Query, QueryChanges } from '../domain/query.ts';
import type { Dataset } from './dataset.ts';
import {
  DECLARED,
  type DeclaredField,
  declaredQuery,
  differingFields,
  type QueryDeclaration,
} from './declared-query.ts';
import { isCurated } from './register.ts';

/**
 * Why these changes are not made; undefined when the query is no dataset's, or of one that is declared no more, or nothing is changed that a
 * declaration says.
 */
export async function declaredChangeProblem(
  query: Pick<Query, 'id' | 'owner' | DeclaredField>,
  changes: QueryChanges,
  { datasets }: { readonly datasets: () => Promise<readonly (Pick<Dataset, 'queryId'> & QueryDeclaration)[]> },
): Promise<string | undefined> {
  if (!isCurated(query)) return undefined;
  // A client may send back all that it was told.
  const changed = differingFields(changes, query).filter((field) => field in changes);
  if (changed.length === 0) return undefined;
  const dataset = (await datasets()).find(({ queryId }) => queryId === query.id);
  if (dataset === undefined) return undefined;
  // Or be earlier than the start that makes the query so.
  const undeclared = differingFields(changes, declaredQuery(dataset));
  const names = changed.filter((field) => undeclared.includes(field)).map((field) => DECLARED[field]);
  if (names.length === 0) return undefined;
  return `query ${query.id} is a curated dataset: ${names.join(', ')} would be set back at the next start; change the dataset's declaration (dataset.json and query.sql of one of your own), and start the service again; description, tags and archiving may be changed here`;
}
