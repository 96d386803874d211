/** Runs from their submission to their end, and the ticks of schedules. */
import { type ExecutionState, STATES } from '../../src/domain/execution.ts';
import type { Instant } from '../../src/domain/instant.ts';
import type { CommittedRows, WholeChange } from './committed-rows.ts';
import type { Violations } from './violations.ts';

const NOT_LOST = 'A run that was accepted is never lost.';
const ALLOWED = 'A run goes from state to state as the state table says, and completes once.';
const ENDS = 'A run that was accepted ends.';
const TICK_ONCE = 'A tick of a schedule is run once.';
const TICKS_GO_ON = 'Every schedule goes on.';
const ONE_AT_A_TIME = 'A scheduled query never overlaps itself.';

export class RunInvariants {
  readonly #violations: Violations;
  readonly #rows: CommittedRows;
  readonly #accepted = new Set<string>();
  /** By true time. */
  readonly #addedAt = new Map<string, Instant>();
  readonly #runOfTick = new Map<string, string>();

  constructor(violations: Violations, rows: CommittedRows) {
    this.#violations = violations;
    this.#rows = rows;
  }

  /** A client was told that the run is in the queue, or that its result is stored. */
  accept(id: string): void {
    this.#accepted.add(id);
    if (!this.#rows.of('executions').has(`executions ${id}`)) this.#violations.found(NOT_LOST, `${id} is not there`);
  }

  /** The changes of one commit. */
  take(changes: readonly WholeChange[], now: Instant): void {
    const ticks = changes.filter(({ table, after }) => table === 'ticks' && after !== undefined);
    for (const { table, before, after } of changes) {
      if (table !== 'executions') continue;
      if (before === undefined) this.#addedAt.set(String(after?.id), now);
      if (before === undefined) for (const tick of ticks) this.#takeTick(tick, String(after?.id));
      else if (after === undefined) this.#violations.found(NOT_LOST, `${before.id} was deleted`);
      else if (before.state !== after.state) {
        const [from, to] = [before.state as ExecutionState, after.state as ExecutionState];
        if (!mayFollow(from, to)) this.#violations.found(ALLOWED, `${after.id}: ${from} to ${to}`);
      }
    }
    for (const { table, before, after } of changes)
      if (table === 'run_queue' && before === undefined) this.#queued(after);
  }

  /** Long after the last fault. @param oldest what is as old must have ended, and a tick that is as old been claimed */
  inTheEnd(schedules: readonly string[], oldest: number): void {
    const isYoung = (id: unknown) => (this.#addedAt.get(String(id)) ?? 0) > oldest;
    for (const { id, state } of this.#rows.of('executions').values()) {
      const isOver = STATES[state as ExecutionState].terminal || isYoung(id);
      if (this.#accepted.has(String(id)) && !isOver) this.#violations.found(ENDS, `${id} is ${state}`);
    }
    for (const { execution_id: id } of this.#rows.of('run_queue').values()) {
      if (!isYoung(id)) this.#violations.found(ENDS, `${id} is still in the queue`);
    }
    for (const schedule of schedules) {
      const tick = Number(this.#rows.of('ticks').get(`ticks ${schedule}`)?.tick ?? 0);
      if (tick < oldest)
        this.#violations.found(TICKS_GO_ON, `the last tick of ${schedule} is ${oldest - tick} ms too old`);
    }
  }

  #takeTick({ after }: WholeChange, id: string): void {
    this.tickRun(`${after?.schedule} ${after?.tick}`, id);
  }

  /** A process was told that the tick is run as this run. */
  tickRun(tick: string, id: string): void {
    const other = this.#runOfTick.get(tick);
    if (other !== undefined && other !== id)
      this.#violations.found(TICK_ONCE, `${tick} is run as ${other} and as ${id}`);
    this.#runOfTick.set(tick, id);
  }

  #queued(run: WholeChange['after']): void {
    const identity = run?.identity;
    if (identity === null || identity === undefined) return;
    for (const other of this.#rows.of('run_queue').values()) {
      if (other.identity !== identity || other.execution_id === run?.execution_id) continue;
      this.#violations.found(ONE_AT_A_TIME, `${run?.execution_id} and ${other.execution_id} are the same run`);
    }
  }
}

/** In one commit a run may be started and ended. */
function mayFollow(from: ExecutionState, to: ExecutionState): boolean {
  return STATES[from].next.some((next) => next === to || (from === 'PENDING' && STATES[next].next.includes(to)));
}
