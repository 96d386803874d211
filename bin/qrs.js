#!/usr/bin/env node
// Starts the command on the Node that the package brings (its dependency `node`), with what must be set before Node starts: V8's
// flags, and the size of the thread pool, in which every DuckDB query and every file read needs a thread. Where npm was told to run no
// install scripts there is no such Node, and the running one serves if it is new enough. Plain JavaScript for Node 20.
// The pool has a thread for each query that may run at a time (two pages for each core, searches, exports, heavy work, publishing,
// a refresh) and as many more, so that files and checks of health never wait for a query.
import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_MIN = 24;

const garbled = wordThatIsNotUtf8();
if (garbled !== undefined) {
  process.stderr.write(`error: ${garbled} is not UTF-8: what it says would be taken for something else\n`);
  process.exit(garbled.startsWith('QRS_') ? 1 : 2);
}
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const built = join(root, 'dist', 'main.js');
const main =
  existsSync(join(root, 'src', 'main.ts')) && !root.includes('node_modules') ? join(root, 'src', 'main.ts') : built;
const node = broughtNode() ?? runningNode();
if (node === undefined) {
  process.stderr.write(
    `error: this needs Node ${NODE_MIN} or later and runs on ${process.version}; the one it brings (npm package "node") is not there, ` +
      `because npm ran no install scripts: run \`npm rebuild node --ignore-scripts=false\`, or install Node ${NODE_MIN}\n`,
  );
  process.exit(1);
}
const FLAGS = [
  // Young garbage takes up to three times this. A larger size would take memory and save no collections that matter.
  '--max-semi-space-size=16',
  // The bytes of answers count as if the heap, which is small, had grown. Without this V8 collects the whole heap after each full
  // page, which takes half as long as the page.
  '--heap-growing-percent=300',
  // Nearly all that a request allocates is dead when V8 collects it. Waking other threads to help takes longer than the work.
  '--no-parallel-scavenge',
  // src/duckdb/native-results.ts asks for collections of young garbage.
  '--expose-gc',
  '--disable-warning=ExperimentalWarning',
];
// glibc's allocator, which other systems do not have. Left to itself it has an area of memory for every second thread, and never asks the
// system for blocks of up to 32 MB once it has freed one of that size: freed memory then lies about in pieces, 113 MB of 334 in a soak.
// It keeps some free memory, since a full page takes 6 MB for a moment, and memory that the system gives anew takes longer than reading.
const ALLOCATOR = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: String(1024 * 1024),
  MALLOC_TRIM_THRESHOLD_: String(16 * 1024 * 1024),
};
const args = [...FLAGS, main, ...process.argv.slice(2)];
const threads = 4 * availableParallelism() + 16;
// Compiled code is kept between runs, which halves the time a short command takes. Where it cannot be kept, it is not. Told before Node
// starts, it holds for the first file and for threads, too, which would load the compiler of TypeScript otherwise: 25 MB and a tenth of a second.
const COMPILED = { NODE_COMPILE_CACHE: join(root, 'node_modules', '.cache', 'compiled') };
const env = { UV_THREADPOOL_SIZE: String(threads), ...ALLOCATOR, ...COMPILED, ...process.env };

if (typeof process.execve === 'function') {
  // The same process goes on as the command: signals and exit codes are its own.
  process.execve(node, [node, ...args], env);
} else {
  // The channel ends with this process, however that ends, and so the child notices.
  const child = spawn(node, args, { env, stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  if (process.env.npm_execpath !== undefined) followShell(child);
  child.on('error', (error) => {
    process.stderr.write(`error: cannot start ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal !== null) process.exit(1);
    process.exit(code ?? 1);
  });
}

/** npm, asked to stop, ends the shell that it started us in and nothing else. */
function followShell(child) {
  const shell = process.ppid;
  const poll = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(poll);
    child.kill('SIGTERM');
  }, 500);
  poll.unref();
}

function broughtNode() {
  try {
    const path = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function runningNode() {
  return Number(process.versions.node.split('.')[0]) >= NODE_MIN ? process.execPath : undefined;
}

/**
 * An argument, or a setting of the environment, that Node has read with U+FFFD in place of some of its bytes: a filter would look for another
 * text, and a folder have another name. U+FFFD may also be what was written; the bytes tell, and only Linux has them.
 */
function wordThatIsNotUtf8() {
  const settings = Object.keys(process.env).filter((name) => name.startsWith('QRS_'));
  const words = [...process.argv.slice(2), ...settings.map((name) => process.env[name])];
  if (process.platform !== 'linux' || !words.some((word) => word.includes('\uFFFD'))) return undefined;
  const argument = bytesOfWords('/proc/self/cmdline').find((word) => !isUtf8(word));
  if (argument !== undefined) return `the argument ${argument}`;
  const setting = bytesOfWords('/proc/self/environ').find((word) => !isUtf8(word) && `${word}`.startsWith('QRS_'));
  return setting && `${setting}`.replace(/=.*/s, '');
}

/** Of a file in which a zero byte ends each word; none where there is no /proc. */
function bytesOfWords(path) {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const words = [];
  for (let from = 0, end; from < bytes.length; from = end + 1) {
    end = bytes.indexOf(0, from);
    words.push(bytes.subarray(from, end));
  }
  return words;
}
