/** Collects the values of a statement while its text is assembled: each value added becomes $1, $2, … */
import { type DuckDBValue, listValue } from '@duckdb/node-api';

/** What a statement may be given. Lists are plain arrays, so that whoever compiles needs nothing of the driver. */
export type ParameterValue = DuckDBValue | readonly DuckDBValue[];

export class Parameters {
  readonly #values: DuckDBValue[] = [];

  /** @returns the text that stands for the value in the statement */
  add(value: ParameterValue): string {
    this.#values.push(isList(value) ? listValue(value) : value);
    return `$${this.#values.length}`;
  }

  get values(): readonly DuckDBValue[] {
    return this.#values;
  }
}

function isList(value: ParameterValue): value is readonly DuckDBValue[] {
  return Array.isArray(value);
}
