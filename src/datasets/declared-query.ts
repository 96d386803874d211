/** What a dataset's declaration says of its query: the start sets it so, and nobody may change it elsewhere. */
import { isDeepStrictEqual } from 'node:util';
import { type ColumnDescriptions, isSameDescriptions } from '../domain/column-descriptions.ts';
import type { QueryChanges, QueryDefinition } from '../domain/query.ts';
import type { Dataset } from './dataset.ts';

/** Each field that a declaration says, in the words of a refusal. */
export const DECLARED = {
  name: 'its name',
  sql: 'its SQL',
  parameters: 'its parameters',
  schedule: 'its schedule',
  columnDescriptions: 'the descriptions of its columns',
  visibility: 'that it is public',
} as const satisfies Partial<Record<keyof QueryDefinition, string>>;

export type DeclaredField = keyof typeof DECLARED;

/** A dataset, as far as its query depends on it. */
export type QueryDeclaration = Pick<Dataset, 'name' | 'sql' | 'schedule' | 'columns' | 'meanings'>;

/** The query as the dataset declares it. */
export function declaredQuery(dataset: QueryDeclaration): Required<Pick<QueryDefinition, DeclaredField>> {
  const { name, sql, schedule } = dataset;
  return { name, sql, parameters: [], schedule, columnDescriptions: descriptionsOf(dataset), visibility: 'public' };
}

/** The declared fields in which the two differ. No descriptions and empty ones are the same. */
export function differingFields(
  some: Pick<QueryChanges, DeclaredField>,
  other: Pick<QueryChanges, DeclaredField>,
): readonly DeclaredField[] {
  const fields = Object.keys(DECLARED) as DeclaredField[];
  return fields.filter((field) =>
    field === 'columnDescriptions'
      ? !isSameDescriptions(some[field], other[field])
      : !isDeepStrictEqual(some[field], other[field]),
  );
}

function descriptionsOf({ columns, meanings }: QueryDeclaration): ColumnDescriptions {
  const described = columns.flatMap(({ name }) => {
    const meaning = Object.hasOwn(meanings, name) ? meanings[name] : undefined;
    return meaning === undefined ? [] : [[name, meaning.about] as const];
  });
  return Object.fromEntries(described);
}
