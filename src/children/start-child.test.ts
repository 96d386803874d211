/** Children of this process, each a program of a few lines. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startChild } from './start-child.ts';

async function program(t: TestContext, text: string): Promise<{ path: string; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'children-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, 'program.mjs');
  await writeFile(path, text);
  return { path, directory };
}

function start(path: string, more: { cwd?: string; env?: Record<string, string>; priority?: number } = {}) {
  const heard = { messages: [] as unknown[], said: '' };
  const child = startChild(
    { program: path, flags: [], env: {}, ...more },
    {
      onMessage: (message) => heard.messages.push(message),
      onSaid: (text) => {
        heard.said += text;
      },
    },
  );
  return { child, heard };
}

test('a child hears what it is sent and is heard to its end, in order', async (t) => {
  const { path } = await program(
    t,
    `process.on('message', (m) => {
       process.send({ got: m });
       if (m.n === 3) { process.stderr.write('bye'); process.exitCode = 7; process.disconnect(); }
     });`,
  );
  const { child, heard } = start(path);
  for (const n of [1, 2, 3]) child.send({ n, text: 'ä "quoted"' });
  assert.deepEqual(await child.ended, { code: 7, signal: null });
  assert.deepEqual(
    heard.messages,
    [1, 2, 3].map((n) => ({ got: { n, text: 'ä "quoted"' } })),
  );
  assert.equal(heard.said, 'bye');
  child.send({ n: 4 });
  child.kill();
});

test('it has the environment, folder and priority it was given, and nothing else', async (t) => {
  const { path, directory } = await program(
    t,
    `import { getPriority } from 'node:os';
     process.send({ cwd: process.cwd(), env: { ...process.env, NODE_CHANNEL_FD: undefined, NODE_CHANNEL_SERIALIZATION_MODE: undefined }, priority: getPriority() });
     process.disconnect();`,
  );
  const { child, heard } = start(path, { cwd: directory, env: { A: '1' }, priority: 19 });
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.deepEqual(heard.messages, [{ cwd: directory, env: { A: '1' }, priority: 19 }]);
});

test('one is killed, and the other goes on', async (t) => {
  const { path } = await program(t, `process.on('message', () => process.send('still here')); process.send('ready');`);
  const [one, other] = [start(path), start(path)];
  one.child.kill();
  assert.deepEqual(await one.child.ended, { code: null, signal: 'SIGKILL' });
  other.child.send({});
  while (!other.heard.messages.includes('still here')) await new Promise(setImmediate);
  assert.ok(Number(other.child.pid) > 0);
  other.child.kill();
  assert.deepEqual(await other.child.ended, { code: null, signal: 'SIGKILL' });
});

test('what cannot be started has ended, with the reason', async (t) => {
  const { path, directory } = await program(t, '');
  const { error } = await start(path, { cwd: join(directory, 'not there') }).child.ended;
  assert.match(String(error), /ENOENT/);
});
