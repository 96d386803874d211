/** An answer in JSON, read for a table: every number keeps the digits it was written with. */

export interface AnswerColumn {
  readonly name: string;
  readonly type: string;
}

export interface AnswerDocument {
  readonly executionId: string;
  readonly endedAt: string | undefined;
  readonly columns: readonly AnswerColumn[];
  /** A value for each column: text, its digits, true or false, null, a list or an object. */
  readonly rows: readonly (readonly unknown[])[];
  readonly totalRowCount: number;
  /** How many rows the filters let through, where the service has counted them. */
  readonly filteredRowCount: number | undefined;
  readonly nextOffset: number | undefined;
}

interface Envelope {
  readonly execution_id?: string;
  readonly execution_ended_at?: string;
  readonly state?: string;
  readonly error?: { readonly message?: string };
  readonly next_offset?: Digits;
  readonly result?: {
    readonly rows: readonly Readonly<Record<string, unknown>>[];
    readonly metadata: {
      readonly column_names: readonly string[];
      readonly column_types: readonly string[];
      readonly total_row_count: Digits;
      readonly filtered_row_count?: Digits;
    };
  };
}

/** A number as it was written. */
export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** @throws Error for a run without a result, with its state and its error */
export function readAnswer(text: string): AnswerDocument {
  const keepDigits: Reviver = (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? new Digits(source) : value;
  const envelope = JSON.parse(text, keepDigits as (key: string, value: unknown) => unknown) as Envelope;
  const { result } = envelope;
  if (result === undefined) throw new Error(withoutResult(envelope));
  const { metadata } = result;
  const names = metadata.column_names;
  return {
    executionId: envelope.execution_id ?? '',
    endedAt: envelope.execution_ended_at,
    columns: names.map((name, i) => ({ name, type: metadata.column_types[i] ?? '' })),
    rows: result.rows.map((row) => names.map((name) => row[name])),
    totalRowCount: Number(metadata.total_row_count.text),
    filteredRowCount: metadata.filtered_row_count && Number(metadata.filtered_row_count.text),
    nextOffset: envelope.next_offset && Number(envelope.next_offset.text),
  };
}

/** Why there are no rows, if the document is the envelope of a run without a result. */
export function whyNoResult(text: string): string | undefined {
  const envelope = JSON.parse(text) as Envelope;
  return envelope.result === undefined ? withoutResult(envelope) : undefined;
}

function withoutResult({ execution_id: id, state = '', error }: Envelope): string {
  const why = error?.message === undefined ? '' : `: ${error.message}`;
  return `execution ${id} is ${state.replace(/^QUERY_STATE_/, '')} and has no result${why}`;
}
