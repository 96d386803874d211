/**
 * Every command and every request of README.md and docs is run against the demo, in the order of the page. Each must end with
 * exit code 0, and each request with a 2xx. A block that cannot run here says why in the page: `<!-- not run: REASON -->`.
 */
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { withoutSettings } from '../without-settings.ts';
import { type ShellBlock, shellBlocks } from './docs-blocks.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');
const ADDRESSES = ['http://127.0.0.1:8080', 'http://localhost:8080'];
/** Examples on the page of commands stand alone. These ids on it are a run that was begun, and a key, a share or a webhook that exists. */
const COMMAND_PAGE = 'docs/reference/command.md';
const EXAMPLE_RUN = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';
const EXAMPLE_KEY_ID = '3q7hk2mv9x4t8wnd';
const EXAMPLE_WEBHOOK_ID = '7m4qx9t2hv8wnd3k';
/** Programs that a page may use and a machine may lack. */
const TOOLS = ['curl', 'jq', 'openssl', 'duckdb', 'sqlite3', 'rsync', 'zcat'].map((name) => ({
  name,
  isThere: spawnSync('bash', ['-c', `command -v ${name}`]).status === 0,
}));
const withoutCurl = TOOLS.some(({ name, isThere }) => name === 'curl' && !isThere);

/** `qrs serve` ends as soon as it listens, since the next command waits. */
const SERVE_AND_STOP = `
import { spawn } from 'node:child_process';
const [program, ...args] = process.argv.slice(2);
const child = spawn(process.execPath, [program, ...args], {
  env: { ...process.env, QRS_PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
child.stdout.once('data', () => child.kill('SIGTERM'));
child.once('close', (code) => process.exit(code ?? 1));
`;

let root: string;
let demo: { readonly url: string; readonly key: string; readonly requests: readonly string[]; stop(): Promise<void> };

before(
  async () => {
    if (withoutCurl) return;
    root = await mkdtemp(join(tmpdir(), 'qrs-docs-'));
    for (const folder of ['bin', 'demo', 'commands', 'home/.config/fish/completions']) {
      await mkdir(join(root, folder), { recursive: true });
    }
    await writeFile(join(root, 'serve-and-stop.mjs'), SERVE_AND_STOP);
    const node = process.execPath;
    const qrs = `if [ "$1" = serve ]; then exec '${node}' '${root}/serve-and-stop.mjs' '${QRS}' "$@"; fi\nexec '${node}' '${QRS}' "$@"`;
    const curl = spawnSync('bash', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim();
    await program('qrs', qrs);
    await program('npx', 'exec "$@"');
    await program('curl', `exec '${curl}' --fail --silent --show-error "$@"`);
    demo = await startDemo();
    await prepareCommands();
  },
  { timeout: 300_000 },
);

after(async () => {
  if (withoutCurl) return;
  await demo?.stop();
  await rm(root, { recursive: true, force: true });
});

for (const block of shellBlocks()) {
  test(`${block.place}: ${block.script.split('\n', 1)}`, { skip: whySkipped(block) }, async () => {
    const printed = await run(block.page === COMMAND_PAGE ? 'commands' : 'demo', await scriptOf(block));
    assert.doesNotMatch(printed, /"rows":\[\]/, 'an example that finds nothing shows nothing');
  });
}

test('the requests that the demo prints', { skip: withoutCurl && 'no curl' }, async () => {
  assert.ok(demo.requests.length >= 5);
  for (const request of demo.requests) await run('demo', request);
});

function whySkipped({ notRun, script }: ShellBlock): string | false {
  if (notRun !== undefined) return notRun === '' ? assert.fail('a block that is not run says why') : notRun;
  const missing = TOOLS.filter(({ name, isThere }) => !isThere && new RegExp(`\\b${name} `).test(script));
  if (withoutCurl) return 'no curl';
  return missing.length > 0 && `no ${missing.map(({ name }) => name).join(', ')}`;
}

async function scriptOf({ place, page, script }: ShellBlock): Promise<string> {
  const change = /(?:^|[\s'"<>=])\/(?!v1\/)\w+|\b(?:npm|docker|systemctl|sudo)\b/.exec(script)?.[0];
  assert.ok(change === undefined, `${place} would change this machine (${change}): mark it as not run`);
  const ofDemo = ADDRESSES.reduce((text, address) => text.replaceAll(address, demo.url), script);
  if (page !== COMMAND_PAGE) return ofDemo;
  const runId = script.includes(EXAMPLE_RUN) ? await run('commands', 'qrs executions submit --query 100') : '';
  const list = script.startsWith('qrs shares') ? 'qrs shares list' : 'qrs keys list';
  const keyId = script.includes(EXAMPLE_KEY_ID) ? await run('commands', `${list} | head -n 1`) : '';
  const webhookId = script.includes(EXAMPLE_WEBHOOK_ID) ? await run('commands', 'qrs webhooks list | head -n 1') : '';
  return ofDemo
    .replaceAll(EXAMPLE_RUN, runId.trim())
    .replaceAll(EXAMPLE_KEY_ID, keyId.trim())
    .replaceAll(EXAMPLE_WEBHOOK_ID, webhookId.trim());
}

/** @returns what the script prints */
async function run(folder: 'demo' | 'commands', script: string): Promise<string> {
  const options = { cwd: join(root, folder), env: environment(), timeout: 110_000, maxBuffer: 100_000_000 };
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], options);
  return stdout;
}

function environment(): NodeJS.ProcessEnv {
  return {
    ...withoutSettings(),
    PATH: `${join(root, 'bin')}${delimiter}${process.env.PATH ?? ''}`,
    HOME: join(root, 'home'),
    QRS: demo?.url,
    KEY: demo?.key,
    // The demo's key may write, too.
    WRITE: demo?.key,
  };
}

async function program(name: string, text: string): Promise<void> {
  await writeFile(join(root, 'bin', name), `#!/bin/sh\n${text}\n`);
  await chmod(join(root, 'bin', name), 0o755);
}

async function startDemo(): Promise<typeof demo> {
  // For the receiver of the guide, on this machine.
  const env = { ...environment(), QRS_PORT: '0', QRS_WEBHOOKS_PRIVATE: 'true' };
  const cwd = join(root, 'demo');
  const child = spawn(process.execPath, [QRS, 'serve', '--demo'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const listening = new Promise<void>((resolve, reject) => {
    // The service prints what to try once it listens, and the requests last.
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line);
      if (line.startsWith('curl ') && line.includes('/avs-stats')) resolve();
    });
    child.once('exit', () => reject(new Error(`the demo ended: ${lines.join('\n')}`)));
  });
  const [[url]] = await Promise.all([once(createInterface(child.stdout), 'line'), listening]);
  return {
    url,
    key: /\bqrs_[0-9a-z]{40}\b/.exec(lines.join('\n'))?.[0] ?? assert.fail('the demo printed no key'),
    requests: lines.filter((line) => /^(curl|printf) /.test(line)),
    async stop() {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

/** Makes what the commands' examples need: files to publish, a second user, source tables. */
async function prepareCommands(): Promise<void> {
  const folder = join(root, 'commands');
  await writeFile(join(folder, 'trades.csv'), 'amount,price\n12345678901234567890,1.125\n');
  await writeFile(join(folder, 'trades.ndjson.gz'), gzipSync('{"amount":1,"price":1.125}\n'));
  const stakers = 'SELECT strategy, rate FROM restaking.strategy_exchange_rate WHERE rate >= {{floor}}';
  await writeFile(join(folder, 'stakers.sql'), stakers);
  const duckDb = await (await DuckDBInstance.create(':memory:')).connect();
  const trades = `SELECT 12345678901234567890::HUGEINT AS amount, 1.125 AS price`;
  await duckDb.run(`COPY (${trades}) TO '${join(folder, 'trades.parquet')}'`);
  duckDb.closeSync();
  await run(
    'commands',
    'qrs users add bob && qrs users add cy && qrs users add dan && qrs queries add --id 102 --user bob && qrs demo-sources ./data/sources --size small',
  );
}
