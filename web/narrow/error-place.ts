/** Finds the place of a mistake in an expression: the API's errors name the parameter and the position. */

export interface ErrorPlace {
  readonly parameter: string;
  /** Characters before it. */
  readonly start: number;
  readonly length: number;
}

/** Parses messages such as `filters, position 9: found ">", expected a column or a value. In: amount >»>« 5`. */
export function errorPlace(message: string): ErrorPlace | undefined {
  const [, parameter = '', position] = /^(filters|sort_by), position ([0-9]+): /.exec(message) ?? [];
  if (position === undefined) return undefined;
  const marked = /»([^«]*)«[^«]*$/s.exec(message)?.[1] ?? '';
  return { parameter, start: Number(position) - 1, length: Math.max(1, marked.length) };
}
