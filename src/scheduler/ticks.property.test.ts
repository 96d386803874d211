/**
 * The law of ticks: several processes that share a catalog, killed, frozen, stopped and started again, run each tick of a dataset and
 * of a user's query once, to completion; none of the last ones is lost, and no query overlaps itself. The same where clocks jump, but
 * that one of a wrong clock may run a tick of its own.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../test/feature/random-results.ts';
import { at, COLUMNS, MINUTE, Process, QUARTERLY, world } from '../../test/schedule-world.ts';
import { lastTick, parseCron } from '../domain/cron.ts';
import { STATES } from '../domain/execution.ts';
import { EngineError } from '../engine/engine.ts';

const CASES = Number(process.env.TEST_CASES ?? 8);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = 120;
const DAYS = 3 * 24 * 60 * MINUTE;
const USERS = { id: 7, schedule: '*/5 * * * *' } as const;
const SCHEDULES = new Map([
  [QUARTERLY.queryId, parseCron(QUARTERLY.schedule)],
  [USERS.id, parseCron(USERS.schedule)],
]);
const GIVEN_UP = /^the process that ran the query ended before its time, 3 times$/;
const WRONG_SQL = 'no such column';

type Fate = 'alive' | 'frozen' | 'killed';

/** One of several processes, with a fate and a clock of its own. */
class Member {
  readonly process: Process;
  readonly stopping = new AbortController();
  readonly #owner: string;
  fate: Fate = 'alive';
  ahead = 0;
  #thaw = () => {};
  #thawed = Promise.resolve();
  #begun = Promise.withResolvers<void>();
  #held: ((error?: Error) => void) | undefined;

  constructor(
    owner: string,
    dead: ReadonlySet<string>,
    onSubmitted: (id: string, queryId: number, tick: number) => void,
  ) {
    this.#owner = owner;
    const { time } = world;
    const sleep = async (millis: number, signal: AbortSignal) => {
      await time.sleep(millis, signal);
      await this.#thawed;
    };
    this.process = new Process(owner, {
      clock: () => time.clock() + this.ahead,
      signal: this.stopping.signal,
      runs: { sleep, runningMax: 1, isLeaseOwnerDead: (name) => dead.has(name) },
    });
    const { queue } = this.process;
    const submit = queue.submitScheduled.bind(queue);
    queue.submitScheduled = async (request) => {
      const execution = await submit(request);
      if (execution !== undefined) onSubmitted(execution.id, request.query.id, request.tick);
      return execution;
    };
    this.process.work = (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => this.fate === 'killed' || reject(signal.reason), { once: true });
        this.#begun.resolve();
        this.#held = (error) => (error === undefined ? resolve({ columns: COLUMNS, rowCount: 1 }) : reject(error));
      });
  }

  get name(): string {
    return this.#owner;
  }

  /** Nothing of it goes on, for now or for ever. */
  stall(fate: 'frozen' | 'killed'): void {
    this.fate = fate;
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.fate = 'alive';
    this.#thaw();
  }

  async stop(): Promise<void> {
    this.stopping.abort(new Error('stopping'));
    await this.process.runner.drained();
  }

  /** Ends what it runs, and waits for the outcome. */
  async end(error?: Error): Promise<void> {
    let isDrained = false;
    const drained = this.process.runner.drained().then(() => {
      isDrained = true;
    });
    while (!isDrained) {
      this.#held?.(error);
      this.#held = undefined;
      this.#begun = Promise.withResolvers();
      await Promise.race([drained, this.#begun.promise]);
    }
  }
}

for (let index = 0; index < CASES; index += 1) {
  const seed = SEED + index;
  const jumps = index % 2 === 1;
  test(`each tick is run once, to completion, ${jumps ? 'where clocks jump' : 'whoever dies'}: seed ${seed}`, async () => {
    const random = new Random(seed);
    const { catalog, time } = world;
    const owner = { kind: 'user', name: 'ann' } as const;
    await catalog.principals.addUser('ann', 0);
    await catalog.queries.add({ ...USERS, owner, visibility: 'public', sql: 'SELECT 1 AS n' }, at('09:00'));
    const dead = new Set<string>();
    const members: Member[] = [];
    const ticksOf = new Map<string, string>();
    const start = () => {
      const member: Member = new Member(`p${members.length}`, dead, (id, queryId, tick) => {
        // A waiting run is also that of later ticks.
        if (!ticksOf.has(id)) ticksOf.set(id, `${queryId} ${tick}`);
      });
      members.push(member);
      return member;
    };
    /** Everything that was asked of the catalog before has been done. */
    const settle = async () => void (await catalog.ticks.claim('settled', time.clock()));
    const step = async (member: Member) => {
      const choice = random.below(100);
      if (choice < 40) time.advance(random.pick([1000, 10_000, 31_000, MINUTE, 15 * MINUTE, 60 * MINUTE]));
      else if (member.fate === 'frozen') member.thaw();
      else if (choice < 65) await member.process.look();
      else if (choice < 85)
        await member.end(random.chance(20) ? new EngineError('syntax_error', WRONG_SQL) : undefined);
      else if (choice < 88) member.stall('frozen');
      else if (choice < 92) {
        member.stall('killed');
        if (random.chance(50)) dead.add(member.name);
      } else if (choice < 95) await member.stop();
      else if (jumps) member.ahead = member.ahead === 0 ? DAYS : 0;
      await settle();
    };
    const isGone = (member: Member) => member.fate === 'killed' || member.stopping.signal.aborted;

    for (let i = 0; i < STEPS; i += 1) {
      while (members.filter((member) => !isGone(member)).length < 3) start();
      await step(random.pick(members.filter((member) => !isGone(member))));
      const unfinished = await catalog.executions.list({ state: ['PENDING', 'EXECUTING'], limit: 100 });
      for (const queryId of SCHEDULES.keys()) {
        assert.ok(unfinished.filter((run) => run.queryId === queryId).length <= 1, `query ${queryId} overlaps itself`);
      }
    }
    for (const member of members) {
      if (member.fate === 'frozen') member.thaw();
      if (!isGone(member)) await member.stop();
    }
    time.advance(60 * MINUTE);
    const last = start();
    for (let turn = 0; turn < 8; turn += 1) {
      await last.process.look();
      await last.end();
    }

    const executions = await catalog.executions.list({ limit: 10_000 });
    assert.deepEqual([...ticksOf.keys()].toSorted(), executions.map(({ id }) => id).toSorted());
    const events = members.flatMap(({ process }) => process.events);
    for (const { id, state, error } of executions) {
      assert.ok(STATES[state].terminal, `${id} is ${state}`);
      if (state !== 'COMPLETED') assert.match(`${error?.message}`, error?.message === WRONG_SQL ? /./ : GIVEN_UP);
      const completed = events.filter(({ executionId, kind }) => executionId === id && kind === 'completed').length;
      assert.equal(completed, state === 'COMPLETED' ? 1 : 0);
    }
    if (!jumps) assert.equal(new Set(ticksOf.values()).size, ticksOf.size, 'a tick was run twice');
    for (const [queryId, cron] of SCHEDULES) {
      const tick = lastTick(cron, time.clock());
      const [newest] = executions.filter((run) => run.queryId === queryId);
      assert.ok(newest?.state === 'COMPLETED', `query ${queryId}`);
      assert.ok((newest.endedAt ?? 0) >= tick, `the last tick of query ${queryId} was lost`);
    }
    assert.deepEqual(
      members.flatMap(({ process }) => process.faults),
      [],
    );
  });
}
