/** What every engine must do, on a real Trino. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { createFromCsv, NO_TRINO, setUp, trinoEngine } from '../trino-tables.ts';
import { engineContract } from './engine.ts';

if (NO_TRINO !== undefined) test('the engine on Trino', { skip: NO_TRINO });
else {
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  after(() => rm(root, { recursive: true, force: true }));
  engineContract('trino', async (files, { timeLimitMillis }) => {
    await setUp('CREATE SCHEMA IF NOT EXISTS chain', 'DROP VIEW IF EXISTS chain.events');
    for (const [name, text] of Object.entries(files)) {
      const path = join(await mkdtemp(join(root, 'csv-')), name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      await createFromCsv(name.replace('/', '.').replace('.csv', ''), path);
    }
    return trinoEngine(join(root, 'temp'), timeLimitMillis);
  });
}
