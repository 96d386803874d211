/** What holds for all replicas together: how often a key may ask them, and how long after it was revoked one of them may still let it in. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, suite, type TestContext, test } from 'node:test';
import { POSTGRES_MISSING, PostgresServer } from '../postgres-server.ts';
import { makeCommandLine } from './command.ts';
import { startHttpService } from './http-service.ts';
import { type Replica, STALENESS_MILLIS, startTwo } from './two-replicas.ts';

const DAY_MILLIS = 86_400_000;
/** Requests of a key in a second, and at once. Few, so that a busy machine has them answered. */
const RATE_LIMIT = 20;
const RATE_BURST = 10;
const ASKED_MILLIS = 3000;

suite('bounds of several replicas', { skip: POSTGRES_MISSING ?? false }, async () => {
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  test('a revoked key reads nothing beyond the bound from a replica that PostgreSQL is silent to, though the clock is set back', async (t) => {
    const direct = await server.newSchema();
    const line = await startSilencer(t, Number(new URL(direct).port));
    const proxied = new URL(direct);
    proxied.port = String(line.port);
    const service = await startHttpService(t, {
      QRS_CATALOG_URL: proxied.href,
      QRS_CATALOG_STALENESS: `${STALENESS_MILLIS}ms`,
    });
    await service.publish(7, 'n\n1\n');
    const other = await makeCommandLine(t, { QRS_CATALOG_URL: direct });
    const { key, id } = JSON.parse(await service.commandLine.get('keys', 'create', '--user', 'ann', '--json'));
    const status = async (signal = AbortSignal.timeout(60_000)) => {
      const answer = await service.get('/v1/query/7/results', { key, signal }).catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      return answer?.status;
    };
    // From memory, from the second on.
    for (let read = 0; read < 3; read += 1) assert.equal(await status(), 200);
    line.isSilent = true;
    await other.get('keys', 'revoke', id);
    const revokedAt = performance.now();
    service.commandLine.now -= DAY_MILLIS;
    const late: number[] = [];
    for (let asked = revokedAt; asked < revokedAt + 4 * STALENESS_MILLIS; asked = performance.now()) {
      if ((await status(AbortSignal.timeout(STALENESS_MILLIS))) === 200) late.push(asked - revokedAt);
      service.commandLine.now -= 1000;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(
      late.filter((millis) => millis > STALENESS_MILLIS),
      [],
    );
    line.isSilent = false;
    let answered = await status();
    while (answered === undefined || answered === 503) answered = await status();
    assert.equal(answered, 401);
  });

  test('what a key may ask of two replicas adds up to its limit, and one that is left allows all of it', async (t) => {
    const { replicas, key } = await startTwo(t, server, {
      QRS_RATE_LIMIT: String(RATE_LIMIT),
      QRS_RATE_BURST: String(RATE_BURST),
    });
    const [first, second] = replicas as [Replica, Replica];
    for (const replica of replicas) await untilCounted(replica, 2);
    const both = await askFor(replicas, key, ASKED_MILLIS);
    const allowed = (seconds: number) => RATE_BURST + RATE_LIMIT * seconds;
    const told = JSON.stringify(both);
    assert.ok(
      both.every(({ answered }) => answered <= allowed(both[0]?.seconds ?? 0) / 2 + 1),
      told,
    );
    const inAll = both.reduce((sum, { answered }) => sum + answered, 0);
    assert.ok(inAll <= allowed(both[0]?.seconds ?? 0), told);
    assert.ok(inAll >= 0.8 * allowed(ASKED_MILLIS / 1000), told);
    const ended = once(second.child, 'exit');
    second.child.kill('SIGTERM');
    await ended;
    await untilCounted(first, 1);
    const [alone = assert.fail()] = await askFor([first], key, ASKED_MILLIS);
    assert.ok(alone.answered <= allowed(alone.seconds), JSON.stringify(alone));
    assert.ok(alone.answered >= 0.8 * RATE_LIMIT * (ASKED_MILLIS / 1000), JSON.stringify(alone));
  });
});

/** Resolves when a replica knows how many there are. */
async function untilCounted({ url }: Replica, count: number): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    if (metrics.includes(`\nqrs_replicas ${count}\n`)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Asks each replica as often as it answers. @returns what each let in, and how long all took */
async function askFor(replicas: readonly Replica[], key: string, millis: number) {
  const start = performance.now();
  const ask = async ({ rows }: Replica) => {
    let answered = 0;
    while (performance.now() - start < millis) {
      const { status, body } = await rows(key);
      assert.ok(status === 200 || status === 429, `${status} ${JSON.stringify(body)}`);
      if (status === 200) answered += 1;
    }
    return answered;
  };
  const counts = await Promise.all(replicas.map(async (replica) => await Promise.all([ask(replica), ask(replica)])));
  const seconds = (performance.now() - start) / 1000;
  return counts.map((each) => ({ answered: each.reduce((sum, count) => sum + count, 0), seconds }));
}

interface Silencer {
  readonly port: number;
  /** Nothing passes, in either direction, and no connection is closed. */
  isSilent: boolean;
}

/** What stands between a replica and its database. */
async function startSilencer(t: TestContext, target: number): Promise<Silencer> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const proxy = createServer((client) => {
    const database = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
      if (isSilent) from.unpipe(to);
    }
    pairs.push([client, database]);
  });
  const pairs: [Socket, Socket][] = [];
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return {
    port: (proxy.address() as AddressInfo).port,
    get isSilent() {
      return isSilent;
    },
    set isSilent(value) {
      isSilent = value;
      for (const [one, other] of pairs) {
        if (value) {
          one.unpipe(other);
          other.unpipe(one);
        } else {
          one.pipe(other);
          other.pipe(one);
        }
      }
    },
  };
}
