/**
 * What must be true at every step, whoever goes next. Each file beside this one has some of the sentences. They are told of every commit,
 * row by row, of every object that is put or deleted, and of what clients are answered.
 */
import type { Instant } from '../../src/domain/instant.ts';
import { SweepStopped } from '../../src/maintenance/sweep-trust.ts';
import type { Observation } from '../../src/observation/observation.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Host } from '../host.ts';
import type { Bucket } from '../store.ts';
import { CommittedRows, type WholeChange } from './committed-rows.ts';
import { KeyInvariants } from './keys.ts';
import { LeaseInvariants } from './leases.ts';
import { LimitInvariants } from './limits.ts';
import { RequestInvariants } from './requests.ts';
import { ResultInvariants } from './results.ts';
import { RunInvariants } from './runs.ts';
import { UsageInvariants } from './usage.ts';
import { Violations } from './violations.ts';

const ONLY_FAULTS = 'Nothing fails but what the simulation makes fail.';
const NO_DEADLOCK = 'No two transactions of the catalog wait for each other.';

/** Errors of a world in which connections break, processes freeze and runs are cancelled. */
const EXPECTED = new Set(['CatalogUnavailable', 'StoreUnavailable', 'LeaseLost']);
const EXPECTED_TEXT = /locked|the limit of \d+ ms|stopped/;

export interface InvariantOptions {
  readonly bucket: Bucket;
  readonly now: () => Instant;
  /** Any two clocks differ by at most so much. */
  readonly clocksApartMillis: number;
  /** Whether clocks are set to other times meanwhile, too. */
  readonly clocksJump: boolean;
  /** How late a commit of another process may be noticed. */
  readonly boundMillis: number;
}

export class Invariants {
  readonly violations = new Violations();
  readonly rows = new CommittedRows();
  readonly leases: LeaseInvariants;
  readonly results: ResultInvariants;
  readonly runs: RunInvariants;
  readonly keys: KeyInvariants;
  readonly usage: UsageInvariants;
  readonly limits: LimitInvariants;
  readonly requests: RequestInvariants;
  /** True time. */
  readonly now: () => Instant;
  readonly #clocksJump: boolean;
  /** What was made to fail, by its name. */
  readonly faults = new Map<string, number>();

  constructor({ bucket, now, clocksApartMillis, clocksJump, boundMillis }: InvariantOptions) {
    const { violations, rows } = this;
    this.now = now;
    this.#clocksJump = clocksJump;
    this.leases = new LeaseInvariants(violations, rows);
    this.results = new ResultInvariants({
      violations,
      rows,
      bucket,
      leases: this.leases,
      clocksApartMillis,
      boundMillis,
    });
    this.runs = new RunInvariants(violations, rows);
    this.keys = new KeyInvariants(violations, boundMillis);
    this.usage = new UsageInvariants(violations);
    this.limits = new LimitInvariants(violations, rows);
    this.requests = new RequestInvariants(violations);
  }

  commit(changes: readonly RowChange[]): void {
    const now = this.now();
    const whole = changes.map((change) => this.rows.take(change));
    for (const change of whole) this.#take(change, now);
    this.runs.take(whole, now);
  }

  deadlock(between: string): void {
    this.violations.found(NO_DEADLOCK, between);
  }

  /** A process has noticed that its clock was set. */
  clockJumped(host: Host): void {
    if (!this.#clocksJump) this.fault(host, 'the clock watch', new Error('a clock jumped'));
  }

  /** Something failed in a process. */
  fault(host: Host, what: string, error: unknown): void {
    if (this.#clocksJump && error instanceof SweepStopped) return;
    const name = error instanceof Error ? error.name : 'unknown';
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
    if (!isExpected(error)) this.violations.found(ONLY_FAULTS, `${host.name}, ${what}: ${textOf(error)}`);
  }

  observe(host: Host, observation: Observation): void {
    if (observation.kind === 'usage_not_written') this.fault(host, 'usage', observation.error);
  }

  #take(change: WholeChange, now: Instant): void {
    if (change.table === 'leases') this.leases.take(change, now);
    else if (change.table === 'result_sets') this.results.take(change, now);
    else if (change.table === 'api_keys') this.keys.take(change, now);
    else if (change.table === 'usage') this.usage.take(change);
    else if (change.table === 'idempotency_keys') this.requests.take(change);
  }
}

export function isExpected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    EXPECTED.has(error.name) ||
    EXPECTED_TEXT.test(error.message) ||
    (error.cause !== undefined && isExpected(error.cause))
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error);
}
