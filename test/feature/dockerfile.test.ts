/** The Dockerfile, which is not built here: what it copies is in the checkout, and gets past .dockerignore. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');

test('what the Dockerfile copies from the checkout is there, and is not ignored', async () => {
  const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
  assert.deepEqual([...new Set(copied)].sort(), [
    'LICENSE',
    'bin',
    'package-lock.json',
    'package.json',
    'scripts',
    'src',
    'tsconfig.build.json',
    'tsconfig.json',
    'web',
  ]);
  for (const path of copied) assert.ok(existsSync(join(ROOT, path)), path);
  const [everything, ...others] = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  assert.equal(everything, '*');
  assert.deepEqual(
    copied.filter((path) => !others.includes(`!${path}`)),
    [],
  );
});
