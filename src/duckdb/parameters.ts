/** Collects the values of a statement while its text is assembled: each value added becomes $1, $2, … */
import type { DuckDBValue } from '@duckdb/node-api';

export class Parameters {
  readonly #values: DuckDBValue[] = [];

  /** @returns the text that stands for the value in the statement */
  add(value: DuckDBValue): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  get values(): readonly DuckDBValue[] {
    return this.#values;
  }
}
