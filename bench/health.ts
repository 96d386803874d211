/**
 * Whether the checks of health answer at once whatever else is asked: /healthz while a million rows are sampled, /readyz while 64
 * clients ask for their first pages of views at the same moment. Each beside the same check of the idle service.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { countBytes } from './count-bytes.ts';
import { quantile, report } from './measure.ts';
import { publishedRows, startService } from './service.ts';

const ROWS = 3_000_000;
const SAMPLED = 1_000_000;
const CLIENTS = 64;
const IDLE_CHECKS = 300;

const execution = await publishedRows(ROWS);
await using service = await startService();
const results = `${service.url}/v1/execution/${execution}/results`;
const headers = { 'x-service-api-key': service.key, 'accept-encoding': 'identity' };
const agent = new Agent({ keepAlive: true });

await measure(`/healthz while ${SAMPLED} rows are sampled`, '/healthz', () =>
  countBytes(`${results}?sample_count=${SAMPLED}&ignore_max_datapoints_per_request=true`, { headers }),
);
await measure(`/readyz while ${CLIENTS} first pages of views are asked for`, '/readyz', async () => {
  const firstPage = (n: number) =>
    countBytes(`${results}?limit=100&filters=${encodeURIComponent(`gas_used = ${n}`)}`, { headers });
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => firstPage(n)));
});
agent.destroy();

async function measure(what: string, path: string, work: () => Promise<unknown>): Promise<void> {
  await check(path);
  const idle: number[] = [];
  while (idle.length < IDLE_CHECKS) idle.push(await check(path));
  let ended = false;
  const working = work().finally(() => {
    ended = true;
  });
  const beside: number[] = [];
  while (!ended) beside.push(await check(path));
  await working;
  const [alone, busy] = [quantile(idle, 0.99), quantile(beside, 0.99)];
  const most = Math.max(...beside).toFixed(0);
  const figures = `${busy.toFixed(1)} ms / ${alone.toFixed(1)} ms; at most ${most} ms of ${beside.length} checks`;
  report(`p99 of ${what} / idle`, busy / alone, '≤ 20', figures);
}

/** @returns milliseconds */
async function check(path: string): Promise<number> {
  const start = performance.now();
  const [answer] = (await once(request(service.url + path, { agent }).end(), 'response')) as [IncomingMessage];
  await answer.resume().toArray();
  if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`);
  return performance.now() - start;
}
