/**
 * How long one turn of the event loop is held, by kinds of requests, each as heavy as the limits allow: CPU time, as the service's own
 * metrics tell it. Work and collections of the heap are told apart. `BENCH_KINDS=wide npm run bench loop` asks for those whose names
 * contain the word.
 */
import { Agent, request } from 'node:http';
import { LOOP_DIR, loopData } from './loop/data.ts';
import { type Asked, type Kind, type LoopClient, resultKinds } from './loop/kinds.ts';
import { crowdKinds, listKinds, writeKinds } from './loop/other-kinds.ts';
import { print, quantile, report } from './measure.ts';
import { QRS, startListening } from './service.ts';

const HELD_MILLIS_MAX = 20;
/** For one kind. */
const SECONDS_MAX = 6;
const WORD = process.env.BENCH_KINDS ?? '';

const data = await loopData();
await using service = await startListening([QRS, 'serve'], { QRS_DATA_DIR: LOOP_DIR, QRS_CONNECTIONS_MAX: '2000' });
const agent = new Agent({ keepAlive: true, maxSockets: 600 });
const client: LoopClient = { ask };
const kinds = [...resultKinds(data), ...listKinds(), ...writeKinds(data), ...crowdKinds(data)];
const worst = new Map<string, number>();
for (const kind of kinds.filter(({ name }) => name.includes(WORD))) worst.set(kind.name, await measure(kind));
agent.destroy();
const over = [...worst].filter(([, millis]) => millis > HELD_MILLIS_MAX);
print(
  `  ${worst.size} kinds, ${over.length} of them above ${HELD_MILLIS_MAX} ms: ${over.map(([name]) => name).join('; ')}`,
);

/** @returns the longest turn of work, in milliseconds */
async function measure({ name, ask: askOnce, times = 6 }: Kind): Promise<number> {
  await held();
  const end = performance.now() + SECONDS_MAX * 1000;
  const [work, gc, statuses]: [number[], number[], Set<unknown>] = [[], [], new Set()];
  for (let turn = 0; turn < times && performance.now() < end; turn += 1) {
    const status = await askOnce(client, turn);
    for (const one of Array.isArray(status) ? status : [status]) statuses.add(one);
    const now = await held();
    work.push(now.work);
    gc.push(now.gc);
  }
  const [longest, collected] = [Math.max(...work), Math.max(...gc)];
  const figures = `work ${longest.toFixed(1)} ms (median ${quantile(work, 0.5).toFixed(1)}), collections ${collected.toFixed(1)} ms; ${work.length} times, ${[...statuses].join(' ')}`;
  report(name, longest / HELD_MILLIS_MAX, '≤ 1', figures);
  return longest;
}

/** The longest turn since the last call, in milliseconds. */
async function held(): Promise<{ readonly work: number; readonly gc: number }> {
  const text = await (await fetch(`${service.url}/metrics`)).text();
  const value = (name: string) =>
    1000 * Number(new RegExp(`^qrs_event_loop_${name}_seconds\\{quantile="1"\\} (\\S+)$`, 'm').exec(text)?.[1]);
  return { work: value('work'), gc: value('gc') };
}

async function ask(
  path: string,
  { headers = {}, method = 'GET', body, bytesMax = Number.POSITIVE_INFINITY }: Asked = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const key = path.includes('api_key') ? {} : { 'x-service-api-key': data.key };
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const sent = request(
    service.url + path,
    { agent, method, headers: { ...key, ...headers, ...length } },
    (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes >= bytesMax) response.destroy();
      });
      response.on('close', () => resolve(response.statusCode ?? 0));
    },
  );
  sent.on('error', (error) => (sent.destroyed ? resolve(0) : reject(error)));
  sent.end(body);
  return await promise;
}
