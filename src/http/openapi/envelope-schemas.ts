/** The schemas of what the results endpoints answer (specification §2, contract §§3–4). Fields that do not apply are absent. */
import { EXECUTION_STATES, type ExecutionState, formatState, STATES } from '../../domain/execution.ts';
import { type Fragment, INSTANT, refTo, TEXT } from './schema.ts';

const WITH_RESULT = EXECUTION_STATES.filter((state) => STATES[state].hasResult).map(formatState);
const FINISHED = EXECUTION_STATES.filter((state) => STATES[state].terminal).map(formatState);

const MEANINGS: Readonly<Record<ExecutionState, string>> = {
  PENDING: 'submitted, not begun',
  EXECUTING: 'running',
  COMPLETED: 'has a result',
  COMPLETED_PARTIAL: 'has a result, truncated because it was too large to store',
  FAILED: 'ended with an error',
  CANCELLED: 'was cancelled',
  EXPIRED: 'had a result, kept no longer',
};

const ENVELOPE: Fragment = {
  execution_id: {
    type: 'string',
    pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$',
    description: 'Identifier of the execution.',
  },
  query_id: { type: 'integer', format: 'int64', description: 'Identifier of the query.' },
  state: refTo('schemas', 'State'),
  is_execution_finished: { type: 'boolean', description: 'Whether the state is final. Poll until it is.' },
  submitted_at: INSTANT,
  execution_started_at: INSTANT,
  execution_ended_at: INSTANT,
  cancelled_at: INSTANT,
  expires_at: { ...INSTANT, description: 'Until when the result is kept.' },
  query_parameters: {
    type: 'object',
    description: 'The parameters of the run and their values. Not in answers with rows.',
    additionalProperties: TEXT,
  },
};

const ENVELOPE_REQUIRED = ['execution_id', 'query_id', 'state', 'is_execution_finished', 'submitted_at'];

/** What holds of every envelope, whatever else is in it. */
const FINISHED_RULE = inStates(
  FINISHED,
  { properties: { is_execution_finished: { const: true } } },
  { properties: { is_execution_finished: { const: false } } },
);

export const ENVELOPE_SCHEMAS: Readonly<Record<string, Fragment>> = {
  State: {
    type: 'string',
    enum: EXECUTION_STATES.map(formatState),
    description: EXECUTION_STATES.map((state) => `- \`${formatState(state)}\`: ${MEANINGS[state]}`).join('\n'),
  },
  Instant: {
    type: 'string',
    format: 'date-time',
    pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z$',
    description: 'UTC, to the microsecond.',
  },
  Envelope: {
    type: 'object',
    description: 'An execution. Fields that do not apply are absent.',
    properties: ENVELOPE,
    required: ENVELOPE_REQUIRED,
    allOf: [FINISHED_RULE],
  },
  ExecutionError: {
    type: 'object',
    description: 'Why an execution failed.',
    properties: {
      type: TEXT,
      message: TEXT,
      metadata: {
        type: 'object',
        description: 'Where in the query, as far as known.',
        properties: { line: { type: 'integer' }, column: { type: 'integer' } },
        additionalProperties: false,
      },
    },
    required: ['type', 'message'],
    additionalProperties: false,
  },
  Difference: {
    type: 'object',
    description: 'Of a difference of two runs: how much changed in all, whatever the filters.',
    properties: {
      from_execution_id: TEXT,
      to_execution_id: TEXT,
      added: count('Rows that only the later has.'),
      removed: count('Rows that only the earlier has.'),
      changed: count('Rows of one key whose other values differ.'),
      unchanged: count('Rows that both have.'),
      key: { type: 'array', items: TEXT },
      columns_only_in_from: { type: 'array', items: TEXT, description: 'Not compared.' },
      columns_only_in_to: { type: 'array', items: TEXT, description: 'Not compared.' },
    },
    required: ['from_execution_id', 'to_execution_id', 'added', 'removed', 'changed', 'unchanged'],
  },
  ResultMetadata: {
    type: 'object',
    properties: {
      column_names: { type: 'array', items: TEXT, description: 'In the order of the answer.' },
      column_types: {
        type: 'array',
        items: TEXT,
        description:
          'The type of each column: `varchar`, `double`, `decimal(10, 3)`, `timestamp(3) with time zone`, `array(varchar)`.',
        examples: [['varchar', 'double']],
      },
      row_count: count('Rows of this page.'),
      result_set_bytes: count('Cell bytes of this page.'),
      total_row_count: count('Rows of the whole result, whatever the filters.'),
      total_result_set_bytes: count('Cell bytes of the whole result.'),
      filtered_row_count: count(
        'Rows that match `filters`: with `count=exact`, or where counting them costs a few milliseconds at most.',
      ),
      datapoint_count: count(
        'What this page is charged as: its cells, or a hundredth of its cell bytes if that is more.',
      ),
      diff: refTo('schemas', 'Difference'),
      pending_time_millis: count('How long the execution waited.'),
      execution_time_millis: count('How long it ran.'),
    },
    required: [
      'column_names',
      'column_types',
      'row_count',
      'result_set_bytes',
      'total_row_count',
      'total_result_set_bytes',
      'datapoint_count',
    ],
    additionalProperties: false,
  },
  Row: {
    type: 'object',
    description:
      'A row: a value, or null, for every column. Numbers wider than 64 bits and decimals are strings of digits, binary is `0x…`.',
    additionalProperties: true,
  },
  Result: {
    type: 'object',
    properties: {
      rows: { type: 'array', items: refTo('schemas', 'Row') },
      metadata: refTo('schemas', 'ResultMetadata'),
    },
    required: ['rows', 'metadata'],
    additionalProperties: false,
  },
  ExecutionResults: {
    type: 'object',
    description: 'An execution and a page of its result. `result` is there when the state has one.',
    properties: {
      error: refTo('schemas', 'ExecutionError'),
      result: refTo('schemas', 'Result'),
      next_offset: { type: 'integer', minimum: 1, description: 'The offset of the next page. Absent on the last.' },
      next_uri: { type: 'string', format: 'uri', description: 'The address of the next page. Absent on the last.' },
    },
    unevaluatedProperties: false,
    dependentRequired: { next_offset: ['next_uri', 'result'], next_uri: ['next_offset', 'result'] },
    allOf: [refTo('schemas', 'Envelope'), presentInStates(WITH_RESULT, 'result')],
  },
  ExecutionStatus: {
    type: 'object',
    description: 'An execution, without rows.',
    properties: {
      error: refTo('schemas', 'ExecutionError'),
      result_metadata: { ...refTo('schemas', 'ResultMetadata'), description: 'Of the whole result.' },
      queue_position: { type: 'integer', minimum: 1, description: 'The place in the queue while it is pending.' },
      progress: refTo('schemas', 'RunProgress'),
    },
    unevaluatedProperties: false,
    allOf: [
      refTo('schemas', 'Envelope'),
      presentInStates(WITH_RESULT, 'result_metadata'),
      presentInStates([formatState('PENDING')], 'queue_position'),
      inStates([formatState('EXECUTING')], {}, { not: { required: ['progress'] } }),
    ],
  },
  RunProgress: {
    type: 'object',
    description:
      'How far the run is, as its engine estimated some seconds ago. It may go back. Absent where the engine does not say.',
    properties: {
      percent: {
        type: 'integer',
        minimum: 0,
        maximum: 100,
        description: "Of the engine's work; storing comes after it.",
      },
      completed_splits: count('Pieces of the work that are done.'),
      total_splits: count('Pieces of the work that are known.'),
      processed_rows: count('Rows read from tables.'),
      processed_bytes: count('Bytes read from tables.'),
    },
    additionalProperties: false,
  },
};

/** The results of a dataset: as any, with the columns known. */
export function datasetResultsSchema(rowSchemaName: string): Fragment {
  const rows = { type: 'array', items: refTo('schemas', rowSchemaName) };
  return {
    allOf: [
      refTo('schemas', 'ExecutionResults'),
      { type: 'object', properties: { result: { type: 'object', properties: { rows } } } },
    ],
  };
}

/** The field is there in these states, and in no other. */
function presentInStates(states: readonly string[], field: string): Fragment {
  return inStates(states, { required: [field] }, { not: { required: [field] } });
}

function inStates(states: readonly string[], holds: Fragment, otherwise: Fragment): Fragment {
  // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema; nothing awaits a schema
  return { if: { properties: { state: { enum: states } } }, then: holds, else: otherwise };
}

function count(description: string): Fragment {
  return { type: 'integer', format: 'int64', minimum: 0, description };
}
