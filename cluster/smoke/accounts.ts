/** When the load is over and everything is up: is all there that was acknowledged, as it was published, and was everything done once? */

import type { Asking } from '../../soak/client.ts';
import { csvLine, HEADER, type Run, rowAt } from '../../soak/rows.ts';
import { QUERIES } from '../../soak/world.ts';
import type { Figures } from './figures.ts';
import type { Acknowledged, History } from './history.ts';
import { pause } from './kills.ts';
import { EXECUTED_QUERY } from './load.ts';
import { sqlRun } from './sql.ts';

const MINUTE_MILLIS = 60_000;
/** So often replicas look for ticks that found no place. */
const LOOK_MILLIS = 5000;
const SETTLED_MILLIS_MAX = 60_000;
/** So many runs a list has at most. */
const LIST_MAX = 200;

export interface Accounts {
  readonly client: Asking;
  readonly key: string;
  readonly history: History;
  readonly figures: Figures;
}

interface ListedRun {
  readonly execution_id: string;
  readonly state: string;
  readonly submitted_at: string;
  readonly execution_ended_at?: string;
  readonly error?: unknown;
}

/** Whole results are compared. */
export async function checkPublished(accounts: Accounts): Promise<void> {
  const { history, figures } = accounts;
  for (const one of history.published) await checkWhole(accounts, one);
  for (const queryId of QUERIES) {
    const known = new Set(history.published.map(({ executionId }) => executionId));
    const others = (await runsOf(accounts, queryId)).filter(({ execution_id: id }) => !known.has(id));
    for (const { execution_id: id, state } of others) {
      figures.addLost(`query ${queryId} has the run ${id} (${state}), which no publish was answered with`);
    }
  }
}

/** What was asked for was run once, and came to its end. */
export async function checkExecuted(accounts: Accounts): Promise<void> {
  const { history, figures } = accounts;
  const runs = await settledRuns(accounts, EXECUTED_QUERY);
  for (const one of history.executed) {
    const run = runs.find(({ execution_id: id }) => id === one.executionId);
    if (run !== undefined && failedWithTrino(accounts, run)) figures.failedWithTrino += 1;
    else if (run?.state !== 'QUERY_STATE_COMPLETED') {
      figures.addLost(`run ${one.executionId} was asked for, and is ${run?.state} ${JSON.stringify(run?.error)}`);
    } else if (await checkWhole(accounts, one)) figures.runs += 1;
  }
  if (runs.length !== history.executed.length) {
    figures.addLost(`${history.executed.length} runs were asked for, and there are ${runs.length}`);
  }
}

/**
 * Each minute since the queries were added has one run, which came to its end, but for minutes in which an earlier run of the query went on:
 * then none begins. @param times between which there were ticks
 */
export async function checkTicks(
  accounts: Accounts,
  queryIds: readonly number[],
  times: { readonly from: number; readonly to: number },
): Promise<void> {
  const { figures } = accounts;
  const minuteOf = (time: number) => Math.floor(time / MINUTE_MILLIS);
  const first = minuteOf(times.from) + 1;
  const minutes = Array.from({ length: Math.max(0, minuteOf(times.to) + 1 - first) }, (_, n) => first + n);
  const runsIn = (runs: readonly ListedRun[], minute: number) =>
    runs.filter(({ submitted_at: at }) => minuteOf(Date.parse(at)) === minute);
  // The run of the last tick begins when the one before it has ended, and somebody has looked again.
  const isSeenTo = (runs: readonly ListedRun[]) =>
    minutes.every((minute) => runsIn(runs, minute).length > 0 || runs.some((one) => wentOn(one, minute)));
  for (const queryId of queryIds) {
    const runs = await settledRuns(accounts, queryId, isSeenTo);
    for (const minute of minutes) {
      const ofTick = runsIn(runs, minute);
      const at = new Date(minute * MINUTE_MILLIS).toISOString();
      const [run] = ofTick;
      if (ofTick.length === 0 && runs.some((one) => wentOn(one, minute))) figures.ticksInRuns += 1;
      else if (ofTick.length === 1 && run !== undefined && failedWithTrino(accounts, run)) figures.failedWithTrino += 1;
      else if (ofTick.length !== 1 || run?.state !== 'QUERY_STATE_COMPLETED') {
        const found = ofTick.map(({ state, error }) => `${state} ${JSON.stringify(error)}`).join(', ');
        figures.addLost(`the tick of query ${queryId} at ${at} has ${ofTick.length} runs: ${found}`);
      } else if (await checkWhole(accounts, { run: sqlRun(queryId, queryId), executionId: run.execution_id })) {
        figures.ticks += 1;
      }
    }
  }
}

/** Until a new run had no time to begin any more in this minute. */
function wentOn({ submitted_at: from, execution_ended_at: to = from }: ListedRun, minute: number): boolean {
  const end = (minute + 1) * MINUTE_MILLIS;
  return Date.parse(from) < end - MINUTE_MILLIS && Date.parse(to) > end - LOOK_MILLIS;
}

/** A run on a coordinator that is killed may fail, and then says that this was the reason. */
function failedWithTrino({ figures }: Accounts, { state, error }: ListedRun): boolean {
  const { type, message = '' } = (error ?? {}) as { readonly type?: string; readonly message?: string };
  const isSaid = state === 'QUERY_STATE_FAILED' && type === 'engine_error' && message.includes('Trino');
  return isSaid && figures.recoveryMillis.has('trino');
}

async function checkWhole(
  { client, key, figures }: Accounts,
  { run, executionId }: Pick<Acknowledged, 'run' | 'executionId'>,
): Promise<boolean> {
  const path = `/v1/execution/${executionId}/results/csv?ignore_max_datapoints_per_request=true`;
  const { status, body } = await client.get(path, key);
  const isThere = status === 200 && body.toString() === csvText(run);
  if (!isThere) figures.addLost(`run ${run.number} of query ${run.queryId}: ${path} has other bytes (${status})`);
  return isThere;
}

function csvText({ number, rowCount }: Run): string {
  const lines = Array.from({ length: rowCount }, (_, id) => `${csvLine(rowAt(number, id))}\n`);
  return `${HEADER}\n${lines.join('')}`;
}

/** When none of them waits or runs any more, and all are there, or after a minute. */
async function settledRuns(
  accounts: Accounts,
  queryId: number,
  areThere: (runs: readonly ListedRun[]) => boolean = () => true,
): Promise<readonly ListedRun[]> {
  const limit = performance.now() + SETTLED_MILLIS_MAX;
  for (;;) {
    const runs = await runsOf(accounts, queryId);
    const isOpen = runs.some(({ state }) => /PENDING|EXECUTING/.test(state));
    if ((!isOpen && areThere(runs)) || performance.now() > limit) return runs;
    await pause(100, new AbortController().signal);
  }
}

async function runsOf({ client, key }: Accounts, queryId: number): Promise<readonly ListedRun[]> {
  const found: ListedRun[] = [];
  for (let offset = 0; ; offset += LIST_MAX) {
    const path = `/v1/query/${queryId}/executions?limit=${LIST_MAX}&offset=${offset}`;
    const { executions = [] } = (await client.json(path, key)) as unknown as { executions?: readonly ListedRun[] };
    found.push(...executions);
    if (executions.length < LIST_MAX) return found;
  }
}
