/**
 * The files of the explorer that a browser loads. In a checkout they are bundled from its sources (web/) when they are first asked for, so
 * that they are never old; the package has them bundled (scripts/build.ts).
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface ExplorerFile {
  /** With a hash of what is in it: `index-ABC123.js`. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** What web/build/bundle.ts has. It is no part of the service: what it imports is there in a checkout only. */
interface Bundler {
  readonly bundle: () => Promise<readonly ExplorerFile[]>;
}

/** Of the checkout, or of the package. */
const ROOT = join(import.meta.dirname, '../../..');
const BUNDLER = join(ROOT, 'web', 'build', 'bundle.ts');
const BUNDLED = join(ROOT, 'dist', 'web');

export async function loadExplorerFiles(): Promise<readonly ExplorerFile[]> {
  if (existsSync(BUNDLER)) {
    const { bundle } = (await import(pathToFileURL(BUNDLER).href)) as Bundler;
    return await bundle();
  }
  const names = await readdir(BUNDLED);
  return await Promise.all(names.map(async (name) => ({ name, bytes: await readFile(join(BUNDLED, name)) })));
}
