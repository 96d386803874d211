import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import { TokenBuckets } from '../domain/token-buckets.ts';
import type { FromSupervisor, FromWorker, WorkerProcess } from './messages.ts';
import { Supervisor } from './supervise.ts';
import { SupervisorLink } from './supervisor-link.ts';

const REPLICA = { id: 'r', name: 'web-1' };
const CONFIGURATION = 'QRS_PORT=80\n';

/** A worker inside this process: the test reads what it is sent, speaks for it, and ends it by `end`. */
class FakeWorker implements WorkerProcess {
  readonly #ended = Promise.withResolvers<string>();
  readonly #toSupervisor: ((message: FromWorker) => void)[] = [];
  readonly #toWorker: ((message: FromSupervisor) => void)[] = [];
  readonly ended = this.#ended.promise;
  stops = 0;
  hangs = false;
  readonly link = new SupervisorLink({
    send: (message) => {
      for (const hear of this.#toSupervisor) hear(message);
    },
    onMessage: (listener) => this.#toWorker.push(listener),
  });

  send(message: FromSupervisor): void {
    for (const hear of this.#toWorker) hear(message);
  }

  onMessage(listener: (message: FromWorker) => void): void {
    this.#toSupervisor.push(listener);
  }

  stop(): void {
    this.stops += 1;
    if (!this.hangs) this.end('exit code 0');
  }

  kill(): void {
    this.end('SIGKILL');
  }

  end(why: string): void {
    this.#ended.resolve(why);
  }
}

function supervise(count: number, tokens?: TokenBuckets) {
  const time = new FakeTime(0);
  const workers: FakeWorker[] = [];
  const ended: { readonly index: number; readonly why: string; readonly pauseMillis: number }[] = [];
  const supervisor = new Supervisor({
    count,
    replica: REPLICA,
    configuration: CONFIGURATION,
    fork: () => {
      const worker = new FakeWorker();
      workers.push(worker);
      return worker;
    },
    tokens,
    addEnded: (earlier, last) => [...((earlier ?? []) as unknown[]), `ended ${last}`],
    onEnded: (worker) => ended.push(worker),
    stopMillis: 39_000,
    sleep: time.sleep,
    monotonic: time.clock,
  });
  return { supervisor, workers, ended, time };
}

test('the address is known once every worker listens', async () => {
  const { supervisor, workers } = supervise(2);
  let known = false;
  void supervisor.listening.then(() => {
    known = true;
  });
  workers[0]?.link.listening('http://here');
  await turn();
  assert.equal(known, false);
  workers[1]?.link.listening('http://here');
  assert.equal(await supervisor.listening, 'http://here');
  await supervisor.stop();
  assert.deepEqual(
    workers.map(({ stops }) => stops),
    [1, 1],
  );
});

test('a worker that hangs when it is asked to stop is killed after a while, and that is told', async () => {
  const { supervisor, workers, time } = supervise(2);
  const [, hangs] = workers;
  if (hangs !== undefined) hangs.hangs = true;
  const stopped = assert.rejects(supervisor.stop(), { message: 'worker 1 did not stop and was killed' });
  time.advance(39_000);
  await stopped;
  assert.equal(await hangs?.ended, 'SIGKILL');
});

test('a worker that ends before it ever listened fails the start', async () => {
  const { supervisor, workers } = supervise(2);
  workers[1]?.end('exit code 1');
  await assert.rejects(supervisor.listening, {
    message: 'worker 1 ended before it listened (exit code 1); it said why above',
  });
  await supervisor.stop();
  assert.equal(workers.length, 2);
});

test('a worker that ends later is replaced, after pauses that double while it keeps ending', async () => {
  const { supervisor, workers, ended, time } = supervise(1);
  workers[0]?.link.listening('http://here');
  const end = async (why: string, pauseMillis: number) => {
    const slept = time.nextSleep();
    workers.at(-1)?.end(why);
    await slept;
    const before = workers.length;
    time.advance(pauseMillis);
    await turn();
    assert.equal(workers.length, before + 1);
  };
  await end('SIGKILL', 500);
  await end('exit code 1', 1000);
  await end('exit code 1', 2000);
  time.advance(60_001);
  await end('SIGSEGV', 500);
  assert.deepEqual(ended, [
    { index: 0, why: 'SIGKILL', pauseMillis: 500 },
    { index: 0, why: 'exit code 1', pauseMillis: 1000 },
    { index: 0, why: 'exit code 1', pauseMillis: 2000 },
    { index: 0, why: 'SIGSEGV', pauseMillis: 500 },
  ]);
  await supervisor.stop();
});

test('a worker that is asked to stop may leave what comes to others that listen, and the last one stays', async () => {
  const { supervisor, workers, time } = supervise(2);
  const ask = async (worker: number) => await workers[worker]?.link.ask('leave', {});
  workers[0]?.link.listening('http://here');
  assert.equal(await ask(0), false);
  workers[1]?.link.listening('http://here');
  assert.equal(await ask(0), true);
  assert.equal(await ask(1), false);
  const slept = time.nextSleep();
  workers[0]?.end('exit code 0');
  await slept;
  time.advance(500);
  await turn();
  assert.equal(await ask(1), false);
  workers[2]?.link.listening('http://here');
  assert.equal(await ask(1), true);
  await supervisor.stop();
});

test('while the service stops no worker leaves: each says that it is stopping', async () => {
  const { supervisor, workers } = supervise(2);
  for (const worker of workers) {
    worker.link.listening('http://here');
    worker.hangs = true;
  }
  const stopped = supervisor.stop();
  assert.equal(await workers[0]?.link.ask('leave', {}), false);
  for (const worker of workers) worker.end('exit code 0');
  await stopped;
});

test('each worker learns its index and the configuration of the start, and its replacement has the same', async () => {
  const { supervisor, workers, time } = supervise(2);
  assert.deepEqual(await workers[1]?.link.ask('role', {}), {
    index: 1,
    count: 2,
    replica: REPLICA,
    configuration: CONFIGURATION,
  });
  for (const worker of workers) worker.link.listening('http://here');
  const slept = time.nextSleep();
  workers[1]?.end('SIGKILL');
  await slept;
  time.advance(500);
  await turn();
  assert.deepEqual(await workers[2]?.link.ask('role', {}), {
    index: 1,
    count: 2,
    replica: REPLICA,
    configuration: CONFIGURATION,
  });
  await supervisor.stop();
});

test('a worker that does not answer in time is told with what it said last, until it ends', async () => {
  const { supervisor, workers, time } = supervise(2);
  for (const [index, worker] of workers.entries()) {
    worker.link.listening('http://here');
    worker.link.offerMetrics(async () => [`of worker ${index}`]);
  }
  const ask = async () => {
    const asked = workers[0]?.link.ask('metrics', {});
    await turn();
    time.advance(2000);
    return (await asked)?.toSorted();
  };
  assert.deepEqual(await ask(), [['of worker 0'], ['of worker 1']]);
  workers[1]?.link.offerMetrics(() => new Promise(() => undefined));
  assert.deepEqual(await ask(), [['of worker 0'], ['of worker 1']]);
  workers[1]?.end('SIGKILL');
  await turn();
  assert.deepEqual(await ask(), [['ended of worker 1'], ['of worker 0']]);
  await supervisor.stop();
});

test('what ended workers have counted stays in the metrics, once, also where their last word comes after their end', async () => {
  const { supervisor, workers, time } = supervise(2);
  for (const [index, worker] of workers.entries()) {
    worker.link.listening('http://here');
    worker.link.offerMetrics(async () => [`of worker ${index}`]);
  }
  const ask = async () => (await workers[0]?.link.ask('metrics', {}))?.toSorted();
  const replace = async (worker: FakeWorker | undefined) => {
    const slept = time.nextSleep();
    worker?.end('SIGKILL');
    await slept;
    worker?.send({ kind: 'collect', id: 100 });
    await turn();
    time.advance(30_000);
    await turn();
  };
  await ask();
  await replace(workers[1]);
  assert.deepEqual(await ask(), [[], ['ended of worker 1'], ['of worker 0']]);
  workers[2]?.link.offerMetrics(async () => ['of its replacement']);
  await ask();
  await replace(workers[2]);
  workers[3]?.link.offerMetrics(async () => ['of another']);
  assert.deepEqual(await ask(), [['ended of worker 1', 'ended of its replacement'], ['of another'], ['of worker 0']]);
  await supervisor.stop();
});

test('the metrics are those of all workers that answer in time', async () => {
  const { supervisor, workers, time } = supervise(3);
  workers[0]?.link.offerMetrics(async () => ['of worker 0']);
  workers[1]?.link.offerMetrics(() => new Promise(() => undefined));
  workers[2]?.link.offerMetrics(async () => ['of worker 2']);
  const asked = workers[0]?.link.ask('metrics', {});
  await turn();
  time.advance(2000);
  assert.deepEqual(await asked, [['of worker 0'], ['of worker 2']]);
  await supervisor.stop();
});

test("a worker gets a share of a key's tokens, and those it gives back can be granted again", async () => {
  const tokens = new TokenBuckets({ perSecond: 1, burst: 16, namesMax: 10, monotonic: () => 0 });
  const { supervisor, workers } = supervise(2, tokens);
  const ask = async (worker: number) => await workers[worker]?.link.ask('tokens', { keyId: 'k' });
  assert.deepEqual(await ask(0), { tokens: 2, allowance: { allowed: true, remaining: 14, seconds: 2 } });
  assert.equal((await ask(1))?.tokens, 1);
  workers[0]?.link.giveBackTokens('k', 2);
  assert.equal(tokens.look('k').remaining, 15);
  let granted = 0;
  for (let more = 1; more > 0; granted += more) more = (await ask(1))?.tokens ?? 0;
  assert.equal(granted, 15);
  await supervisor.stop();
});

test('without a limit in the supervisor, a worker that has one is not limited', async () => {
  const { supervisor, workers } = supervise(2);
  const granted = await workers[0]?.link.ask('tokens', { keyId: 'k' });
  assert.deepEqual([granted?.allowance.allowed, (granted?.tokens ?? 0) > 0], [true, true]);
  workers[0]?.link.giveBackTokens('k', 1);
  await supervisor.stop();
});

/** Lets resolved promises run their callbacks. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
