/**
 * Ways in which the product can be broken, each as small as can be: a condition that a statement lacks, an answer that is not waited for, a
 * clock that is wrong. For each sentence of `invariants/` there is one, and a test holds that the simulation finds it. The product itself
 * is never changed: statements are rewritten on their way to the simulated database, and parts that a process is given are wrapped.
 */
import type { Catalog } from '../src/catalog/catalog.ts';
import type { Clock } from '../src/domain/instant.ts';
import type { SweepDependencies } from '../src/maintenance/sweep.ts';
import { ALONE, type LimitParts } from '../src/replicas/live-replicas.ts';
import type { ResultStore } from '../src/store/result-store.ts';
import type { DatabaseKind } from './catalog.ts';

/** What a process is given. */
export interface ProcessParts {
  readonly catalog: Catalog;
  readonly store: ResultStore;
  readonly clock: Clock;
}

/** What it is given in place of that. */
export interface BrokenParts {
  readonly catalog?: Catalog;
  readonly store?: ResultStore;
  /** What reads take for the time. */
  readonly readClock?: Clock;
  readonly limitParts?: LimitParts;
  readonly sweep?: Partial<Pick<SweepDependencies, 'catalog' | 'clock'>>;
}

export interface Mutation {
  /** The sentence that is not true any more. */
  readonly sentence: string;
  /** Only a database that works so can be broken in this way. */
  readonly kind?: DatabaseKind;
  /** A statement as it reaches the database. */
  readonly statement?: (text: string) => string;
  /** Transactions in PostgreSQL that begin with such a statement do without the lock that all of them take. */
  readonly withoutLock?: RegExp;
  readonly breakParts?: (parts: ProcessParts) => BrokenParts;
}

const MINUTE = 60_000;
/** A parameter, as either database has it. */
const P = String.raw`(\?|\$\d+)`;

const replacing = (pattern: RegExp, by: string) => (text: string) => text.replace(pattern, by);

export const MUTATIONS = {
  'put-not-awaited': {
    sentence: 'A result is visible whole or not at all.',
    breakParts: ({ store }) => {
      const put: ResultStore['put'] = async (...given) => void store.put(...given).catch(() => undefined);
      return { store: override(store, { put }) };
    },
  },
  'sweep-sees-no-manifest': {
    sentence: 'An object that a visible result needs is never deleted.',
    breakParts: ({ catalog }) => ({
      sweep: { catalog: withExecutions(catalog, { findResultSet: async () => undefined }) },
    }),
  },
  'sweep-sees-no-readers': {
    sentence: 'An object that a long read holds is never deleted.',
    breakParts: ({ catalog }) => {
      const list = async (prefix: string) =>
        (await catalog.leases.list(prefix)).filter(({ resource }) => !resource.startsWith('read:'));
      return { sweep: { catalog: override(catalog, { leases: override(catalog.leases, { list }) }) } };
    },
  },
  'sweep-clock-ahead': {
    sentence: 'Nothing unexpired is deleted.',
    breakParts: ({ clock }) => ({ sweep: { clock: () => clock() + MINUTE } }),
  },
  'read-clock-behind': {
    sentence: 'Nothing expired is served.',
    breakParts: ({ clock }) => ({ readClock: () => clock() - MINUTE }),
  },
  'any-lease-commits': {
    sentence: 'A writer with an older token never commits.',
    // Usually it would notice before the commit that its lease was lost.
    breakParts: ({ catalog }) => {
      const renew: Catalog['leases']['renew'] = async (lease, millis) =>
        (await catalog.leases.renew(lease, millis)) ?? lease;
      return { catalog: override(catalog, { leases: override(catalog.leases, { renew }) }) };
    },
    statement: replacing(
      new RegExp(`^(delete from "leases" where "resource" = ${P}) and "holder" = ${P} and "token" = ${P}`),
      '$1 and $3 is not null and $4 is not null',
    ),
  },
  'sweep-lists-nothing': {
    sentence: 'What nobody needs is deleted in the end.',
    breakParts: ({ store }) => ({ store: override(store, { list: async function* () {} }) }),
  },
  'accepted-before-commit': {
    sentence: 'A run that was accepted is never lost.',
    breakParts: ({ catalog }) => {
      const enqueue: Catalog['runs']['enqueue'] = async (run, limits) => {
        void catalog.runs.enqueue(run, limits).catch(() => undefined);
        return { kind: 'added', execution: run.execution };
      };
      return { catalog: override(catalog, { runs: override(catalog.runs, { enqueue }) }) };
    },
  },
  'any-state-follows': {
    sentence: 'A run goes from state to state as the state table says, and completes once.',
    statement: replacing(/^(update "executions" .*)"state" in (\([^)]*\))/, '$1("state" in $2 or 1 = 1)'),
  },
  'claimed-once': {
    sentence: 'A run that was accepted ends.',
    statement: replacing(
      /^(select "run_queue"\.\* from "run_queue" .*)( order by )/,
      '$1 and "run_queue"."claims" = 0$2',
    ),
  },
  'tick-claimed-again': {
    sentence: 'A tick of a schedule is run once.',
    // Usually a process would not even ask, since it knows of the last one.
    breakParts: ({ catalog }) => ({
      catalog: override(catalog, { ticks: override(catalog.ticks, { findLast: async () => undefined }) }),
    }),
    statement: replacing(/^(insert into "ticks" .*"ticks"\."tick") < /, '$1 <= '),
  },
  'schedule-forgotten': {
    sentence: 'Every schedule goes on.',
    breakParts: ({ catalog }) => {
      const list: Catalog['queries']['list'] = async (filter) => (await catalog.queries.list(filter)).slice(1);
      return { catalog: override(catalog, { queries: override(catalog.queries, { list }) }) };
    },
  },
  'same-run-not-found': {
    sentence: 'A scheduled query never overlaps itself.',
    statement: replacing(new RegExp(`(where "run_queue"."identity" = ${P})`), '$1 and 1 = 0'),
  },
  /** A race that PostgreSQL had: two read that a lease is free, and both take it. */
  'lease-race': {
    sentence: 'A lease has one holder: nobody takes it before its time is over.',
    kind: 'postgres',
    withoutLock: /^select "token" from "leases"/,
    statement: replacing(/^(insert into "leases" .* do update set .*?) where .*( returning "\w+")$/, '$1$2'),
  },
  'tokens-stand-still': {
    sentence: 'Every new holder of a lease has a greater token.',
    statement: replacing(
      /^(update "lease_tokens" set "last" =) case when "last" < (\S+) then (\S+) else "last" \+ (\S+) end/,
      '$1 "last" + 0 * ($2 + $3 + $4)',
    ),
  },
  'usage-without-number': {
    sentence: 'Usage adds up: nothing is counted twice.',
    // SQLite's commits have no answer that can be lost.
    kind: 'postgres',
    breakParts: ({ catalog }) => withUsage(catalog, async (uses) => await catalog.usage.add(uses)),
  },
  'usage-failure-swallowed': {
    sentence: 'Usage adds up: only what a killed process had not written is lost.',
    breakParts: ({ catalog }) =>
      withUsage(catalog, async (...given) => await catalog.usage.add(...given).catch(() => undefined)),
  },
  'others-not-seen': {
    sentence: 'A replica divides limits by all that it could know of.',
    breakParts: ({ catalog }) => ({
      catalog: override(catalog, { replicas: override(catalog.replicas, { list: async () => [] }) }),
    }),
  },
  'limit-not-divided': {
    sentence: 'Once replicas know of each other, all together allow what a limit says.',
    breakParts: () => ({ limitParts: ALONE }),
  },
  'kept-answer-not-found': {
    sentence: 'A request under an idempotency key is carried out once.',
    breakParts: ({ catalog }) => ({
      catalog: override(catalog, {
        idempotencyKeys: override(catalog.idempotencyKeys, { find: async () => undefined }),
      }),
    }),
  },
  'oldest-kept': {
    sentence: 'Pruning leaves the newest results of a query.',
    breakParts: ({ catalog }) => {
      const list: Catalog['executions']['list'] = async (filter) =>
        (await catalog.executions.list(filter)).toReversed();
      return { catalog: withExecutions(catalog, { list }) };
    },
  },
  'deaf-to-changes': {
    sentence: 'A revoked key reads nothing after the staleness bound.',
    breakParts: ({ catalog }) => ({ catalog: override(catalog, { version: () => 1 }) }),
  },
  /** A race that PostgreSQL had: each adds to the same rows in an order of its own. */
  'usage-race': {
    sentence: 'No two transactions of the catalog wait for each other.',
    kind: 'postgres',
    withoutLock: /^insert into "(?:usage|idempotency_keys)"/,
  },
  'second-batch-refused': {
    sentence: 'Nothing fails but what the simulation makes fail.',
    statement: replacing(/^(insert into "idempotency_keys" .*?) on conflict .*( returning "\w+")$/, '$1$2'),
  },
  'end-not-awaited': {
    sentence: 'No failure goes unnoticed.',
    breakParts: ({ catalog }) => {
      const revoke: Catalog['leases']['revoke'] = async (lease) => {
        void catalog.leases.revoke(lease);
        return true;
      };
      return { catalog: override(catalog, { leases: override(catalog.leases, { revoke }) }) };
    },
  },
} as const satisfies Readonly<Record<string, Mutation>>;

export type MutationName = keyof typeof MUTATIONS;

export function mutationOf(name: MutationName): Mutation {
  return MUTATIONS[name];
}

/** Some of them together. */
export class Mutations {
  readonly #all: readonly Mutation[];

  constructor(names: ReadonlySet<MutationName> = new Set()) {
    this.#all = [...names].map(mutationOf);
  }

  readonly rewrite = (text: string): string =>
    this.#all.reduce((rewritten, { statement }) => statement?.(rewritten) ?? rewritten, text);

  /** Which transactions do without the lock of all transactions; empty when all take it. */
  get withoutLock(): readonly RegExp[] {
    return this.#all.flatMap(({ withoutLock }) => withoutLock ?? []);
  }

  breakParts(parts: ProcessParts): BrokenParts {
    return Object.assign({}, ...this.#all.map(({ breakParts }) => breakParts?.(parts)));
  }
}

/** The same object with other methods. */
function override<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get: (of, name) => {
      if (name in changes) return changes[name as keyof T];
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
}

function withExecutions(catalog: Catalog, changes: Partial<Catalog['executions']>): Catalog {
  return override(catalog, { executions: override(catalog.executions, changes) });
}

function withUsage(catalog: Catalog, add: Catalog['usage']['add']): BrokenParts {
  return { catalog: override(catalog, { usage: override(catalog.usage, { add }) }) };
}
