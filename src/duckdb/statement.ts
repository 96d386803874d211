/** SQL as it is compiled: plain data, so that whoever compiles needs nothing of the database's driver. */

export type PlainValue = string | number | bigint | boolean | null;

/** What a parameter may stand for. */
export type ParameterValue = PlainValue | readonly PlainValue[];

/** SQL assembled from a checked plan, and the values its parameters $1, $2, … stand for. */
export interface Statement {
  readonly text: string;
  readonly values: readonly ParameterValue[];
  /** Its answer may have many megabytes: it is taken on another thread, for which it may have to wait. */
  readonly isLong?: true;
}

/** Stored order is `kept` by the plan of a statement, or `asked` for in its text (row-order.ts). Asking may cost a sort of all rows. */
export type RowOrder = 'kept' | 'asked';
