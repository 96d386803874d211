#!/usr/bin/env node
// Starts the command on the Node that the project brings (package `node`), with what must be set before Node starts:
// the size of the thread pool, on which every DuckDB query and every file read waits for a place.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const built = join(root, 'dist', 'main.js');
const main =
  existsSync(join(root, 'src', 'main.ts')) && !root.includes('node_modules') ? join(root, 'src', 'main.ts') : built;
const node = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
const args = ['--disable-warning=ExperimentalWarning', main, ...process.argv.slice(2)];
const env = { UV_THREADPOOL_SIZE: '16', ...process.env };

if (typeof process.execve === 'function') {
  // The same process goes on as the command: signals and exit codes are its own.
  process.execve(node, [node, ...args], env);
} else {
  const child = spawn(node, args, { env, stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal !== null) process.exit(1);
    process.exit(code ?? 1);
  });
}
