/**
 * The command as a process: what only a real process can show. Everything else about commands is tested inside the test's
 * process.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { withoutSettings } from '../without-settings.ts';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

async function workingDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-process-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  return directory;
}

function qrs(cwd: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { ...withoutSettings(), ...environment };
  const { status, stdout, stderr } = spawnSync(process.execPath, [QRS, ...args], { cwd, env, encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

test('a key from an empty directory to its revocation, with the settings in qrs.env', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'qrs.env'), 'QRS_DATA_DIR=here\n');
  assert.deepEqual(qrs(cwd, ['users', 'add', 'ann']), { code: 0, out: 'ann\n', err: '' });
  assert.match(qrs(cwd, ['keys', 'create', '--user', 'ann']).out, /^qrs_[0-9a-hjkmnp-tv-z]{40}\n$/);
  const id = qrs(cwd, ['keys', 'list']).out.trim();
  assert.deepEqual(qrs(cwd, ['keys', 'revoke', id]), { code: 0, out: `${id}\n`, err: '' });
  assert.equal((await stat(join(cwd, 'here'))).mode & 0o777, 0o700);
  assert.equal((await stat(join(cwd, 'here', 'catalog.sqlite'))).mode & 0o777, 0o600);
});

test('the effective settings, from the environment, the file and the defaults', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'other.env'), 'QRS_PORT=9000\nQRS_HOST=::1\n');
  const given = { QRS_CONFIG_FILE: 'other.env', QRS_PORT: '0', QRS_MEMORY: '2GB' };
  const { code, out, err } = qrs(cwd, ['config'], given);
  assert.equal(code, 0);
  assert.match(err, /^memory: reading 600 MB \+ .* \+ the process itself 240 MB = 2000 MB\n$/);
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

test('the command runs with a garbage collector that can be called', async (t) => {
  const printed = "data:text/javascript,process.stderr.write(typeof(gc)+';')";
  const { err } = qrs(await workingDirectory(t), ['--version'], { NODE_OPTIONS: `--import=${printed}` });
  // First bin/qrs.js, which has no flags, then the Node that it starts.
  assert.equal(err, 'undefined;function;');
});

test('what a shell gives as a file that can be read once is published', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'rows.csv'), 'a\n1\n2\n');
  assert.equal(qrs(cwd, ['users', 'add', 'ann']).code, 0);
  assert.equal(qrs(cwd, ['queries', 'add', '--id', '7', '--user', 'ann']).code, 0);
  const run = (script: string) => {
    const shell = ['-c', script, process.execPath, QRS];
    const env = withoutSettings();
    const { status, stderr } = spawnSync('bash', shell, { cwd, env, encoding: 'utf8', timeout: 180_000 });
    return { code: status, err: stderr };
  };
  for (const script of [
    'cat rows.csv | "$0" "$1" publish /dev/stdin --query 7',
    '"$0" "$1" publish <(cat rows.csv) --query 7',
    'exec < rows.csv; rm rows.csv; "$0" "$1" publish /dev/stdin --query 7',
  ]) {
    assert.deepEqual(run(script), { code: 0, err: '' }, script);
    assert.equal(qrs(cwd, ['rows', '7']).out, 'a\n1\n2\n');
  }
  assert.deepEqual(run('echo a | "$0" "$1" publish /dev/fd/7 --query 7 7<&0'), {
    code: 1,
    err: 'error: /dev/fd/7 does not reach this command: give it as standard input, and - as the file\n',
  });
});

test('bad settings are one line and exit 1, whatever the command', async (t) => {
  const cwd = await workingDirectory(t);
  assert.deepEqual(qrs(cwd, ['users', 'list'], { QRS_PROT: '1' }), {
    code: 1,
    out: '',
    err: 'error: QRS_PROT (in the environment) is no setting; did you mean QRS_PORT?\n',
  });
  const trino = qrs(cwd, ['config'], { QRS_ENGINE_URL: 'trino://qrs:secret@host' });
  assert.equal(trino.code, 1);
  assert.match(
    trino.err,
    /^error: QRS_ENGINE_URL is "trino:\/\/qrs:\*\*\*@host": expected trino:\/\/user@host:port\/catalog /,
  );
});

test('a file of settings that is not UTF-8 is refused: a folder would have another name', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'qrs.env'), Buffer.from('QRS_DATA_DIR=donn\xe9es\n', 'latin1'));
  assert.deepEqual(qrs(cwd, ['users', 'list']), {
    code: 1,
    out: '',
    err: 'error: QRS_CONFIG_FILE: qrs.env is not UTF-8: save it as UTF-8\n',
  });
  assert.deepEqual(await readdir(cwd), ['qrs.env']);
});

test('an argument or a setting that is not UTF-8 is refused: another text would be meant, or another folder', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux tells the bytes of arguments');
  const cwd = await workingDirectory(t);
  const run = (script: string) => {
    const options = { cwd, env: withoutSettings(), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, QRS], options);
    return { code: status, out: stdout, err: stderr };
  };
  const why = 'is not UTF-8: what it says would be taken for something else';
  assert.deepEqual(run('"$0" "$1" publish "$(printf "a\\351.csv")" --query 1'), {
    code: 2,
    out: '',
    err: `error: the argument a\uFFFD.csv ${why}\n`,
  });
  assert.deepEqual(run('export QRS_DATA_DIR="$(printf "donn\\351es")"; "$0" "$1" users list'), {
    code: 1,
    out: '',
    err: `error: QRS_DATA_DIR ${why}\n`,
  });
  assert.deepEqual(await readdir(cwd), []);
  // Whoever looks for U+FFFD itself writes it as UTF-8.
  assert.deepEqual(run('QRS_DATA_DIR="$(printf "\\357\\277\\275")" "$0" "$1" users list'), {
    code: 0,
    out: '',
    err: '',
  });
});

test('the settings are printed without passwords', async (t) => {
  const cwd = await workingDirectory(t);
  const { code, out } = qrs(cwd, ['config'], { QRS_CATALOG_URL: 'postgres://qrs:secret@db/qrs' });
  assert.equal(code, 0);
  assert.match(out, /postgres:\/\/qrs:\*\*\*@db\/qrs/);
  assert.doesNotMatch(out, /secret/);
});

test('a catalog that cannot be opened is one line and exit 1', async (t) => {
  const cwd = await workingDirectory(t);
  await writeFile(join(cwd, 'data'), 'a file, not a folder');
  const { code, err } = qrs(cwd, ['users', 'list']);
  assert.equal(code, 1);
  assert.match(err, /^error: [^\n]*EEXIST[^\n]*\n$/);
});

test('the command ends quietly when the reader of its output has closed', async (t) => {
  const cwd = await workingDirectory(t);
  const child = spawn(process.execPath, [QRS, 'config', '--json'], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text;
  });
  child.stdout.destroy();
  const [code] = await once(child, 'close');
  assert.deepEqual({ code, err }, { code: 0, err: '' });
});

test('what a file takes only a part of is no success', async (t) => {
  const cwd = await workingDirectory(t);
  // The system writes up to the limit and says how much it was, as it does where a disk has room for a part. The script is 8 KB.
  const script = 'ulimit -f 4 && exec "$0" "$1" completion bash > part';
  const env = { ...withoutSettings(), NODE_DISABLE_COMPILE_CACHE: '1' };
  const { status } = spawnSync('sh', ['-c', script, process.execPath, QRS], { cwd, env });
  assert.ok((await stat(join(cwd, 'part'))).size > 0);
  assert.notEqual(status, 0);
});

test('a port that is taken is one line that says what to do, and exit 1', async (t) => {
  const cwd = await workingDirectory(t);
  const other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  t.after(() => other.close());
  const { port } = other.address() as AddressInfo;
  assert.deepEqual(qrs(cwd, ['serve'], { QRS_PORT: String(port) }), {
    code: 1,
    out: '',
    err: `error: port ${port} is taken by another program; stop it or set QRS_PORT\n`,
  });
});

test('a number of workers that is none is a wrong argument: exit 2', async (t) => {
  assert.deepEqual(qrs(await workingDirectory(t), ['serve', '--workers', 'all']), {
    code: 2,
    out: '',
    err: "error: option '--workers <count>' argument 'all' is invalid. Expected auto, or a whole number from 1 to 256.\n",
  });
});

test('the log is lines of JSON on standard error, from the first to the last', async (t) => {
  const cwd = await workingDirectory(t);
  // Without the schedule, whose sweep would log a line of its own.
  const env = { ...process.env, QRS_PORT: '0', QRS_LOG_LEVEL: 'debug', QRS_SCHEDULE: 'false' };
  const child = spawn(process.execPath, [QRS, 'serve'], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const log = text(child.stderr);
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const url = String(line).trim();
  assert.equal((await fetch(`${url}/v1/usage?api_key=qrs_secret`, { headers: { 'x-request-id': 'r1' } })).status, 401);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  const lines = (await log).trimEnd().split('\n');
  const seen = lines.map((one) => JSON.parse(one)).map(({ message, route }) => (route === undefined ? message : route));
  assert.equal(seen[0], 'listening');
  assert.deepEqual(seen.slice(-4), ['/v1/usage', '/healthz', 'stopping', 'stopped']);
  assert.doesNotMatch(lines.join(), /secret/);
  assert(lines.some((one) => one.includes('"request_id":"r1"')));
});
