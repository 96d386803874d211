import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { engineContract } from '../../../test/contract/engine.ts';
import { DuckDbEngine } from './duckdb-engine.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-sources-'));
after(() => rm(root, { recursive: true, force: true }));

engineContract('duckdb', async (files, { timeLimitMillis }) => {
  // A name with all that DuckDB would read as a pattern or the end of a text.
  const sourcesDirectory = await mkdtemp(join(root, "it's [all] *sources?-"));
  for (const [name, text] of Object.entries(files)) {
    const path = join(sourcesDirectory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return new DuckDbEngine({
    sourcesDirectory,
    tempDirectory: join(root, 'temp'),
    threads: 2,
    memoryLimit: '128MB',
    tempSizeMax: '0GB',
    timeLimitMillis,
  });
});
