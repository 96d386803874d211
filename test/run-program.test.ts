import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { runProgram } from './run-program.ts';

const options = { cwd: import.meta.dirname, env: process.env };

test('what it writes is handed over; a failure has what it said', async (t) => {
  const run = async (program: string) =>
    await runProgram(process.execPath, ['-e', program], { ...options, signal: t.signal });
  assert.equal(await run('console.log(6 * 7)'), '42\n');
  await assert.rejects(run('console.error("why"); process.exit(3)'), {
    stderr: 'why\n',
    message: /ended with 3: why$/,
  });
});

test('one that does not stop is ended with what it has started, which keeps its output open', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // The one that it starts tells that it runs by connecting.
  const started = `require('net').connect(${port}, '127.0.0.1')`;
  const program = `process.on('SIGTERM', () => {});
    require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(started)}], { stdio: 'inherit' });`;
  const stopping = new AbortController();
  const running = runProgram(process.execPath, ['-e', program], { ...options, signal: stopping.signal });
  const [connection] = await once(server, 'connection');
  connection.on('error', () => undefined).resume();
  const gone = once(connection, 'close');
  stopping.abort(new Error('enough'));
  await assert.rejects(running, { name: 'ProgramFailed', message: /did not end: Error: enough/ });
  // It died with the other.
  await gone;
});
