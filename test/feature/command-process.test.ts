/** The command as a process: what only a real one can show. Everything else about commands is tested without starting one. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

async function workingDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-process-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  return directory;
}

function qrs(cwd: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QRS_'));
  const env = { ...Object.fromEntries(inherited), ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [QRS, ...args], { cwd, env, encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

test('a key from an empty directory to its revocation, by way of qrs.env', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'qrs.env'), 'QRS_DATA_DIR=here\n');
  assert.deepEqual(qrs(cwd, ['users', 'add', 'ann']), { code: 0, out: 'ann\n', err: '' });
  assert.match(qrs(cwd, ['keys', 'create', '--user', 'ann']).out, /^qrs_[0-9a-hjkmnp-tv-z]{40}\n$/);
  const id = qrs(cwd, ['keys', 'list']).out.trim();
  assert.deepEqual(qrs(cwd, ['keys', 'revoke', id]), { code: 0, out: `${id}\n`, err: '' });
  assert.equal((await stat(join(cwd, 'here'))).mode & 0o777, 0o700);
  assert.equal((await stat(join(cwd, 'here', 'catalog.sqlite'))).mode & 0o777, 0o600);
});

test('the effective settings: from the environment, the file, the defaults', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'other.env'), 'QRS_PORT=9000\nQRS_HOST=::1\n');
  const { code, out } = qrs(cwd, ['config'], { QRS_CONFIG_FILE: 'other.env', QRS_PORT: '0' });
  assert.equal(code, 0);
  const lines = out.split('\n');
  assert(lines.includes('QRS_PORT=0'));
  assert(lines.includes('QRS_HOST=::1'));
  assert(lines.includes('QRS_MAX_DATAPOINTS=250000'));
  const json = JSON.parse(qrs(cwd, ['config', '--json'], { QRS_CONFIG_FILE: 'other.env', QRS_PORT: '0' }).out);
  const named = (name: string) => json.find((setting: { name: string }) => setting.name === name);
  assert.deepEqual(named('QRS_PORT'), { name: 'QRS_PORT', value: '0', source: 'environment' });
  assert.deepEqual(named('QRS_HOST'), { name: 'QRS_HOST', value: '::1', source: 'other.env' });
  assert.deepEqual(named('QRS_DATA_DIR'), { name: 'QRS_DATA_DIR', value: './data', source: 'default' });
});

test('bad settings are one line and exit 1, whatever the command', async (t) => {
  const cwd = await workingDirectory(t);
  assert.deepEqual(qrs(cwd, ['users', 'list'], { QRS_PROT: '1' }), {
    code: 1,
    out: '',
    err: 'error: QRS_PROT (in the environment) is no setting; did you mean QRS_PORT?\n',
  });
  const postgres = qrs(cwd, ['config'], { QRS_CATALOG_URL: 'postgres://qrs:secret@db/qrs' });
  assert.equal(postgres.code, 1);
  assert.match(postgres.err, /^error: QRS_CATALOG_URL is "postgres:\/\/qrs:\*\*\*@db\/qrs": this version keeps/);
});

test('a catalog that cannot be opened is one line and exit 1', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'data'), 'a file, not a folder');
  const { code, err } = qrs(cwd, ['users', 'list']);
  assert.equal(code, 1);
  assert.match(err, /^error: [^\n]*EEXIST[^\n]*\n$/);
});

test('a reader that has seen enough ends the command quietly', async (t) => {
  const cwd = await workingDirectory(t);
  const child = spawn(process.execPath, [QRS, 'config'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  assert.deepEqual({ code, err }, { code: 0, err: '' });
});
