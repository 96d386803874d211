/** Collects the values of a statement while its text is assembled: each value added becomes $1, $2, … */
import type { ParameterValue } from './statement.ts';

export class Parameters {
  readonly #values: ParameterValue[] = [];

  /** @returns the text that stands for the value in the statement */
  add(value: ParameterValue): string {
    this.#values.push(value);
    return `$${this.#values.length}`;
  }

  get values(): readonly ParameterValue[] {
    return this.#values;
  }
}
