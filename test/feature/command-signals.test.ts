/** One wish to stop may arrive as two signals: from the terminal, and handed on by npm. It is still one. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const QRS = join(import.meta.dirname, '../../bin/qrs.js');

for (const signals of [['SIGTERM'], ['SIGINT', 'SIGINT'], ['SIGINT', 'SIGTERM']] as const) {
  test(`${signals.join(' and ')} at once: the service stops in order`, { timeout: 60_000 }, async (t) => {
    const cwd = await mkdtemp(join(tmpdir(), 'qrs-signals-'));
    t.after(async () => await rm(cwd, { recursive: true, force: true }));
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('QRS_'));
    const env = { ...Object.fromEntries(inherited), QRS_PORT: '0', QRS_LOG_LEVEL: 'silent' };
    const child = spawn(process.execPath, [QRS, 'serve'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] });
    t.after(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data', { signal: AbortSignal.timeout(30_000) });
    for (const signal of signals) child.kill(signal);
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(30_000) });
    assert.equal(code, 0);
  });
}
