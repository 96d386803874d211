/** An execution and its result as examples, written as the service writes them: by its own envelope. */
import { parseColumnType } from '../../domain/column-type.ts';
import { type Execution, type ExecutionState, STATES } from '../../domain/execution.ts';
import { DAY_MILLIS } from '../../domain/instant.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';
import { SHARED_PARAMETERS } from '../../results/request/shared-parameters.ts';
import { envelopeOf, metadataOf } from '../../results/respond/envelope.ts';
import type { Fragment } from './schema.ts';

/** 2024-03-05T20:50:59.123Z */
const SUBMITTED_AT = 1_709_671_859_123;
const RETENTION_MILLIS = 90 * DAY_MILLIS;
const TOTAL_ROWS = 5_000_000;

const ROW = {
  wallet: '0xd8da6bf26964af9d7eed9e03e53415d37aa96045',
  amount: 1520.5,
  chain: 'base',
  tags: ['whale', 'early'],
};

const EXAMPLE_COLUMNS: readonly Column[] = Object.entries({
  wallet: 'varchar',
  amount: 'double',
  chain: 'varchar',
  tags: 'array(varchar)',
}).map(([name, type]) => ({ name, type: parseColumnType(type) }));

export const EXAMPLE_RESULT_SET: ResultSet = {
  columns: EXAMPLE_COLUMNS,
  rowCount: TOTAL_ROWS,
  cellBytes: 64 * TOTAL_ROWS,
  truncated: false,
  parts: [],
};

function exampleExecution(state: ExecutionState): Execution {
  const [startedAt, endedAt] = [SUBMITTED_AT + 320, SUBMITTED_AT + 4660];
  return {
    id: SHARED_PARAMETERS.executionId.example,
    queryId: Number(SHARED_PARAMETERS.queryId.example),
    parameters: {},
    state,
    submittedAt: SUBMITTED_AT,
    ...(state !== 'PENDING' && { startedAt }),
    ...(STATES[state].terminal && { endedAt }),
    ...(state === 'CANCELLED' && { cancelledAt: endedAt }),
    ...((STATES[state].hasResult || state === 'EXPIRED') && { expiresAt: endedAt + RETENTION_MILLIS }),
    ...(state === 'FAILED' && {
      error: { type: 'syntax_error', message: "mismatched input 'FORM'", line: 3, column: 12 },
    }),
  };
}

/** A page of one row, with the next to follow. */
export function exampleResults(
  address: string,
  row: Fragment = ROW,
  columns: readonly Column[] = EXAMPLE_COLUMNS,
): Fragment {
  const execution = exampleExecution('COMPLETED');
  const page = { columns, rowCount: 1, cellBytes: 64 };
  return {
    ...envelopeOf(execution, 'COMPLETED'),
    result: { rows: [row], metadata: metadataOf(execution, EXAMPLE_RESULT_SET, page) },
    next_offset: 1,
    next_uri: `${address}/v1/execution/${execution.id}/results?limit=1&offset=1`,
  };
}

/** The envelope alone, of an execution that has no result to give. */
export function exampleEnvelope(state: ExecutionState): Fragment {
  return envelopeOf(exampleExecution(state), state);
}

/** Of an execution that waits. */
export function exampleStatus(): Fragment {
  return { ...exampleEnvelope('PENDING'), queue_position: 1 };
}

export const EXAMPLE_NDJSON = `${JSON.stringify(ROW)}\n`;

export const EXAMPLE_CSV = `wallet,amount,chain,tags\n${ROW.wallet},${ROW.amount},${ROW.chain},"[""whale"",""early""]"\n`;
