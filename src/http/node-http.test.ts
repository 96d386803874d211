import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

test('the HTTP server is loaded without the HTTP client that Node brings', async () => {
  const program = `
    await import(${JSON.stringify(new URL('./server.ts', import.meta.url))});
    process.stdout.write(String(process.moduleLoadList.some((name) => name.includes('undici'))));`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, flags);
  assert.equal(stdout, 'false');
});
