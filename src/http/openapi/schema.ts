/** The pieces an OpenAPI document is made of, as plain data. */
import type { Column } from '../../domain/result-set.ts';

/** An object of the document: a JSON Schema, a response, a parameter. */
export type Fragment = Readonly<Record<string, unknown>>;

/** The sections of `components` that are referred to. */
type Section = 'schemas' | 'parameters' | 'headers' | 'requestBodies' | 'responses';

export function refTo(section: Section, name: string): Fragment {
  return { $ref: `#/components/${section}/${name}` };
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
