/** Several processes on several machines: each has a data directory of its own, and they share the catalog in PostgreSQL and the store. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { requestIdPrefix } from '../../src/replicas/request-id-prefix.ts';
import { POSTGRES_MISSING, PostgresServer } from '../postgres-server.ts';
import { type Replica, rowsIn, STALENESS_MILLIS, startTwo } from './two-replicas.ts';

suite('two replicas', { skip: POSTGRES_MISSING ?? false }, async () => {
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  test('what one is told both know: results, and keys that are revoked, within the bound', async (t) => {
    const { replicas, key, run, publish } = await startTwo(t, server);
    for (const { rows } of replicas) assert.deepEqual(rowsIn((await rows(key)).body), [{ n: 1 }]);
    publish('n\n2\n');
    await untilKnown(replicas, async ({ rows }) => rowsIn((await rows(key)).body)[0]?.n === 2);
    const second = run('keys', 'create', '--user', 'ann', '--json');
    const { key: other, id } = JSON.parse(second) as { key: string; id: string };
    for (const { rows } of replicas) assert.equal((await rows(other)).status, 200);
    run('keys', 'revoke', id);
    await untilKnown(replicas, async ({ rows }) => (await rows(other)).status !== 200);
    for (const { rows } of replicas) assert.equal((await rows(other)).status, 401);
  });

  test('a key that is revoked under load: what still gets through began within the bound', async (t) => {
    const { replicas, run } = await startTwo(t, server);
    const admin = run('keys', 'create', '--user', 'ann', '--scope', 'admin');
    const { key, id } = JSON.parse(run('keys', 'create', '--user', 'ann', '--json')) as { key: string; id: string };
    let answered = 0;
    let revokedAt = Number.POSITIVE_INFINITY;
    const isLoaded = Promise.withResolvers<void>();
    /** When requests began that were let in after the key was revoked. */
    const late: number[] = [];
    const ask = async ({ rows }: Replica) => {
      for (let refused = 0; refused < 50; ) {
        const startedAt = performance.now();
        const { status } = await rows(key);
        // 429: many wrong keys from one address.
        assert.ok([200, 401, 429].includes(status), `${status}`);
        if (status !== 200) {
          refused += 1;
          continue;
        }
        answered += 1;
        if (answered === 500) isLoaded.resolve();
        if (startedAt > revokedAt) late.push(startedAt - revokedAt);
      }
    };
    const asking = replicas.flatMap((replica) => Array.from({ length: 8 }, () => ask(replica)));
    await isLoaded.promise;
    const headers = { 'x-service-api-key': admin };
    const revoked = await fetch(`${replicas[0]?.url}/v1/keys/${id}`, { method: 'DELETE', headers });
    revokedAt = performance.now();
    assert.ok(revoked.ok);
    await Promise.all(asking);
    t.diagnostic(
      `${late.length} of ${answered} answers after the revocation, the last ${Math.round(Math.max(0, ...late))} ms`,
    );
    assert.deepEqual(
      late.filter((millis) => millis > STALENESS_MILLIS),
      [],
    );
  });

  test('a database that goes away: answers from memory within the bound, then 503 that says so, and all is well when it is back', async (t) => {
    const { replicas, key } = await startTwo(t, server);
    for (const { rows } of replicas) assert.equal((await rows(key)).status, 200);
    await server.kill();
    for (const { rows } of replicas) {
      let answer = await rows(key);
      while (answer.status === 200) answer = await rows(key);
      assert.deepEqual(answer, { status: 503, body: { error: 'the catalog cannot be reached at the moment' } });
    }
    for (const { url } of replicas) {
      assert.equal((await fetch(`${url}/healthz`)).status, 200);
      const ready = await fetch(`${url}/readyz`);
      assert.equal(ready.status, 503);
      assert.match(await ready.text(), /not ready: the catalog: it cannot be reached/);
    }
    await server.resume();
    for (const { rows, child } of replicas) {
      const { status, body } = await rows(key);
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(rowsIn(body), [{ n: 1 }]);
      assert.equal(child.exitCode, null);
    }
  });

  test('each has a name, which its request ids and metrics tell, and knows how many there are', async (t) => {
    const { replicas, key, run } = await startTwo(t, server);
    const listed = JSON.parse(run('doctor', '--json')) as readonly { check: string; found: string }[];
    const found = listed.find(({ check }) => check === 'replicas')?.found ?? '';
    assert.match(found, /^2 replicas running: /);
    for (const [index, { url }] of replicas.entries()) {
      const name = ['web-a', 'web-b'][index] ?? '';
      const answer = await fetch(`${url}/v1/query/7/results`, { headers: { 'x-service-api-key': key } });
      assert.equal(answer.headers.get('x-request-id')?.slice(0, 6), requestIdPrefix(name));
      assert.match(found, new RegExp(`${name} \\([0-9.]+, request ids ${requestIdPrefix(name)}…\\)`));
      const metrics = await (await fetch(`${url}/metrics`)).text();
      assert.match(metrics, new RegExp(`^qrs_replica_info\\{replica="${name}"\\} 1$`, 'm'));
    }
    const [, second] = replicas;
    const ended = once(second?.child ?? assert.fail(), 'exit');
    second?.child.kill('SIGTERM');
    await ended;
    const left = JSON.parse(run('doctor', '--json')) as typeof listed;
    assert.match(
      left.find(({ check }) => check === 'replicas')?.found ?? '',
      /^1 replica running: web-a [^,]*, request ids \w+…\)$/,
    );
  });

  test('usage adds up over both, their logs name them, and what both say of the catalog is the same', async (t) => {
    const { replicas, key, run } = await startTwo(t, server);
    const reads = [3, 5];
    for (const [index, { rows }] of replicas.entries()) {
      for (let read = 0; read < (reads[index] ?? 0); read += 1) assert.equal((await rows(key)).status, 200);
    }
    const shared = await Promise.all(
      replicas.map(async ({ url }) => {
        const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
        const marked = lines.flatMap(
          (line) => /^# HELP (\S+) .* take one of them, not the sum\.$/.exec(line)?.[1] ?? [],
        );
        return lines.filter((line) => marked.some((name) => new RegExp(`^${name}[{ ]`).test(line)));
      }),
    );
    assert.ok((shared[0]?.length ?? 0) > 0);
    const names = shared.map((lines) => lines.map((line) => line.split(' ')[0]));
    assert.deepEqual(names[0], names[1]);
    for (const { child } of replicas) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    const usage = JSON.parse(run('usage', '--by', 'query', '--json')) as readonly Record<string, unknown>[];
    assert.equal(usage.find(({ query_id: id }) => id === 7)?.requests, 8, JSON.stringify(usage));
    for (const [index, { log }] of replicas.entries()) {
      const named = log.map((line) => (JSON.parse(line) as { replica?: string }).replica);
      assert.ok(named.length > 0);
      assert.deepEqual(new Set(named), new Set([['web-a', 'web-b'][index]]));
    }
  });

  test('one is killed: the other goes on', async (t) => {
    const { replicas, key, publish } = await startTwo(t, server);
    const [first, second] = replicas as [Replica, Replica];
    const exited = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await exited;
    publish('n\n3\n');
    assert.deepEqual(rowsIn((await second.rows(key)).body), [{ n: 3 }]);
  });
});

/** Asks each again and again until it knows what was told just now. Fails where one does not that was asked when the bound was over. */
async function untilKnown(
  replicas: readonly Replica[],
  isKnown: (replica: Replica) => Promise<boolean>,
): Promise<void> {
  const told = performance.now();
  for (const replica of replicas) {
    for (let asked = told; !(await isKnown(replica)); asked = performance.now()) {
      assert.ok(asked - told <= STALENESS_MILLIS, `not known ${asked - told} ms later`);
    }
  }
}
