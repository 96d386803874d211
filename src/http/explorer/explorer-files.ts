/**
 * The files of the explorer that a browser loads. In a checkout they are bundled from its sources (web/) when they are first asked for, so
 * that they are never old; the package has them bundled (scripts/build.ts).
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

export interface ExplorerFile {
  /** With a hash of what is in it: `index-ABC123.js`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Of the checkout, or of the package. */
const ROOT = join(import.meta.dirname, '../../..');
/** No part of the service: what it imports is there in a checkout only. */
const BUNDLER = join(ROOT, 'web', 'build', 'bundle-thread.ts');
const BUNDLED = join(ROOT, 'dist', 'web');

export async function loadExplorerFiles(): Promise<readonly ExplorerFile[]> {
  if (existsSync(BUNDLER)) {
    const thread = new Worker(BUNDLER, { execArgv: ['--disable-warning=ExperimentalWarning'] });
    const [files] = (await once(thread, 'message')) as [readonly ExplorerFile[]];
    return files;
  }
  const names = await readdir(BUNDLED);
  return await Promise.all(names.map(async (name) => ({ name, bytes: await readFile(join(BUNDLED, name)) })));
}
