/**
 * Bundles the explorer for browsers, in a tenth of a second: one script and one style sheet for the first page, and a script for each part
 * that is loaded later. File names contain a hash of the content, so files may be cached for ever.
 */
import { basename, join } from 'node:path';
import { build, stop } from 'esbuild';

export interface BundledFile {
  /** `index-ABC123.js` */
  readonly name: string;
  readonly bytes: Uint8Array;
}

const SOURCES = join(import.meta.dirname, '..');

export async function bundle(): Promise<readonly BundledFile[]> {
  try {
    const { outputFiles } = await build({
      entryPoints: [join(SOURCES, 'index.tsx'), join(SOURCES, 'style.css')],
      entryNames: '[name]-[hash]',
      chunkNames: '[name]-[hash]',
      outdir: SOURCES,
      bundle: true,
      splitting: true,
      minify: true,
      write: false,
      format: 'esm',
      target: 'es2022',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      legalComments: 'none',
      logLevel: 'silent',
    });
    return outputFiles.map(({ path, contents }) => ({ name: basename(path), bytes: contents }));
  } finally {
    // Otherwise its process waits for more work.
    await stop();
  }
}
