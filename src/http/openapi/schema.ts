/** The pieces an OpenAPI document is made of, as plain data. */
import type { Column } from '../../domain/result-set.ts';

/** An object of the document: a JSON Schema, a response, a parameter. */
export type Fragment = Readonly<Record<string, unknown>>;

/** The sections of `components` that are referred to. */
type Section = 'schemas' | 'parameters' | 'headers' | 'requestBodies' | 'responses';

export function refTo(section: Section, name: string): Fragment {
  return { $ref: `#/components/${section}/${name}` };
}

export const TEXT: Fragment = { type: 'string' };
export const INSTANT = refTo('schemas', 'Instant');
export const QUERY_ID: Fragment = { type: 'integer', minimum: 1 };

/** An object that has these properties and no others. @param optional those that may be absent */
export function object(properties: Fragment, optional: readonly string[] = []): Fragment {
  return { type: 'object', properties, ...requiredOf(properties, optional), additionalProperties: false };
}

function requiredOf(properties: Fragment, optional: readonly string[]): { readonly required?: readonly string[] } {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return required.length > 0 ? { required } : {};
}

/** What the schema of that name has, and more. @param name of a schema that leaves open what else there may be */
export function extended(name: string, properties: Fragment, optional: readonly string[] = []): Fragment {
  const required = requiredOf(properties, optional);
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 && { properties }),
    ...required,
    allOf: [refTo('schemas', name)],
    unevaluatedProperties: false,
  };
}

/** An object of which another schema may say more (`extended`), so what else there may be is left open. */
export function openObject(properties: Fragment, optional: readonly string[] = []): Fragment {
  const { additionalProperties: _, ...own } = object(properties, optional);
  return own;
}

/** A page of a list. @param name of the property that holds its items */
export function listOf(name: string, item: Fragment): Fragment {
  return extended('List', { [name]: { type: 'array', items: item } });
}

/** What a curated dataset promises, as its declaration says it. */
export interface DatasetDescription {
  readonly name: string;
  readonly title: string;
  /** The address, from the version on: `/v1/restaking/operator-stats`. */
  readonly path: string;
  /** A cron expression in UTC. */
  readonly schedule: string;
  readonly columns: readonly Column[];
  readonly meanings: Readonly<Record<string, ColumnDescription>>;
}

/** What a column means, with a value as it could stand there. */
export interface ColumnDescription {
  readonly about: string;
  readonly example: unknown;
  readonly values?: readonly (string | null)[];
}
