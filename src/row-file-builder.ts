/** The process that builds row files and indexes, a child of the service (results/derived/row-files/builder-process.ts). It ends with its parent. */
import { setTimeout as wait } from 'node:timers/promises';
import { DuckDb } from './duckdb/duckdb.ts';
import { NotBuildable } from './results/derived/build-queue.ts';
import { buildIndex } from './results/derived/indexes/build-index.ts';
import { buildRowFile } from './results/derived/row-files/build-row-file.ts';
import type { BuilderAnswer, BuilderMessage, BuilderOrder } from './results/derived/row-files/builder-process.ts';

const never = new AbortController().signal;
let opening: Promise<DuckDb> | undefined;

process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
process.on('message', async (message: BuilderMessage) => {
  if (message.kind === 'open') {
    opening = DuckDb.open({ ...message.options, sleep: (millis, signal) => wait(millis, undefined, { signal }) });
    // Whoever sends an order is told.
    opening.catch(() => undefined);
    return;
  }
  process.send?.(await answerTo(message));
});

async function answerTo(message: BuilderOrder): Promise<BuilderAnswer> {
  try {
    if (opening === undefined) throw new Error('an order came before the options');
    const duckDb = await opening;
    const building =
      message.kind === 'index' ? buildIndex(duckDb, message.order, never) : buildRowFile(duckDb, message.order, never);
    return { kind: 'built', bytes: await building };
  } catch (error) {
    if (error instanceof NotBuildable) return { kind: 'none', why: error.message };
    const { message, code } = error as { readonly message?: unknown; readonly code?: unknown };
    return { kind: 'failed', message: String(message ?? error), code: typeof code === 'string' ? code : undefined };
  }
}
