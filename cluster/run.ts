/**
 * A service of several machines on this one, until Ctrl-C: PostgreSQL, an S3 server, replicas and a proxy before them, with the demo.
 *
 *   npm run cluster -- [--replicas 2]
 *   npm run cluster -- --smoke 60 [--replicas 2] [--seed N] [--trino] [--no-kills] [--or-skip]
 *
 * With --smoke: so many seconds of load whose every answer is checked, while replicas and servers are killed in turn. Exits with 0 only when
 * nothing was wrong and nothing lost. With --trino queries run on Trino, and it is killed, too: give it some minutes. With --or-skip it exits with 0, too, where the servers are not installed, and says so.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { demoRequests } from '../src/demo/requests.ts';
import { Cluster } from './cluster.ts';
import { missingServers } from './servers.ts';
import { smoke } from './smoke/smoke.ts';

const REPLICAS_MAX = 16;

const { values } = parseArgs({
  options: {
    replicas: { type: 'string', default: '2' },
    smoke: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    trino: { type: 'boolean', default: false },
    'no-kills': { type: 'boolean', default: false },
    'or-skip': { type: 'boolean', default: false },
  },
});
const replicas = wholeNumber('replicas', values.replicas, REPLICAS_MAX);
const { trino } = values;
if (trino && values.smoke === undefined) {
  tell('--trino goes with --smoke: the demo has its tables in files, which are no tables of Trino');
  process.exit(2);
}
const missing = missingServers({ trino });
if (missing.length > 0) {
  const isSkipped = values['or-skip'];
  tell(`${isSkipped ? 'skipped: ' : ''}${missing.join('; ')}`);
  process.exit(isSkipped ? 0 : 1);
}
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort());
await (values.smoke === undefined ? serve() : runSmoke(wholeNumber('smoke', values.smoke, 86_400)));

async function serve(): Promise<void> {
  await using cluster = await Cluster.start({ replicas, demo: true, tell });
  const key = await cluster.qrs('keys', 'create', '--user', 'demo', '--scope', 'write');
  tell('');
  print(cluster.front.url);
  for (const { program, address } of cluster.servers) tell(`${program}: ${address}`);
  for (const { name, url } of cluster.replicas) tell(`${name}: ${url}`);
  tell(`in front: ${cluster.front.program}`);
  tell(demoRequests(cluster.front.url, { key, hasQueries: true }));
  if (!interruption.signal.aborted) await once(interruption.signal, 'abort');
  tell('stopping');
}

async function runSmoke(seconds: number): Promise<void> {
  const seed = wholeNumber('seed', values.seed, Number.MAX_SAFE_INTEGER);
  tell(`--smoke ${seconds} --replicas ${replicas} --seed ${seed}`);
  const { signal } = interruption;
  const { figures, line } = await smoke({ replicas, seconds, seed, signal, tell, trino, kills: !values['no-kills'] });
  print(line);
  if (signal.aborted) tell('interrupted before its end');
  process.exitCode = figures.isWell && !signal.aborted ? 0 : 1;
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  tell(`--${name}: found ${text}, expected a whole number from 1 to ${max}`);
  process.exit(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}
