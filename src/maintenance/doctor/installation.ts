/** Looks at whether the catalog and the store belong together, and at what lies in the service's folders that it did not write. */
import { readdir } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import type { Service } from '../../compose/service.ts';
import { lookAtClock } from '../../domain/clock-record.ts';
import { executionOfDerived, isStagingName, isWriterFolder, writerOfKey } from '../../domain/written-names.ts';
import { isScratchName } from '../../files/scratch-folder.ts';
import { describeClockDoubt } from '../sweep-trust.ts';
import { type Finding, wrong } from './finding.ts';

/** Counting stops here. */
const FOREIGN_MAX = 1000;
const NAMED_MAX = 3;
/** In the root of a store, beside the folders of runs. */
const STORE_FILES: ReadonlySet<string> = new Set(['installation.txt', 'staging']);

export async function examineInstallation(service: Service): Promise<Finding> {
  const check = 'installation';
  try {
    await service.store();
    const id = await (await service.catalog()).installation.findId();
    return { check, status: 'ok', found: `the catalog and the store are those of installation ${id}` };
  } catch (error) {
    return wrong(check, error);
  }
}

/** Whether results may be deleted by their age. The clock is only looked at: what the doctor sees is not kept. */
export async function examineClock(service: Service): Promise<Finding> {
  const check = 'clock';
  const { installation } = await service.catalog();
  const { doubt } = lookAtClock(await installation.findClock(), service.clock(), undefined);
  if (doubt === undefined) return { check, status: 'ok', found: 'where it was last seen, give or take a day' };
  return { check, status: 'warning', found: describeClockDoubt(doubt) };
}

/** Names what is foreign; it is never deleted, and stops nothing. */
export async function examineForeignFiles({
  directories: { results, staging, views, derived, temp },
  settings,
}: Pick<Service, 'directories' | 'settings'>): Promise<Finding> {
  const check = 'foreign files';
  const foreign: string[] = [];
  // With results in S3, what was fetched of them lies there, in a folder of each process's own.
  const isStore = settings.store.kind === 'file';
  if (isStore) for await (const path of foreignInStore(results)) add(foreign, path);
  for await (const path of foreignIn(staging, isStagingName)) add(foreign, path);
  for (const folder of [views, temp, ...(isStore ? [] : [results])])
    for await (const path of foreignIn(folder, isScratchName)) add(foreign, path);
  for await (const path of foreignIn(derived, isScratchName)) {
    if (executionOfDerived(basename(path)) === undefined) add(foreign, path);
  }
  if (foreign.length === 0) return { check, status: 'ok', found: 'none in the folders of the service' };
  const count = foreign.length >= FOREIGN_MAX ? `${FOREIGN_MAX} or more` : String(foreign.length);
  const some = foreign.slice(0, NAMED_MAX).join(', ');
  return {
    check,
    status: 'warning',
    found: `${count} in the folders of the service: ${some}${foreign.length > NAMED_MAX ? ', …' : ''}`,
    advice: 'the service neither reads nor deletes them; move them to a place of their own',
  };
}

function add(foreign: string[], path: string): void {
  if (foreign.length < FOREIGN_MAX) foreign.push(path);
}

/** What is neither an object nor a folder on the way to one. */
async function* foreignInStore(root: string, folder = root): AsyncGenerator<string> {
  for (const entry of await entriesOf(folder)) {
    if (folder === root && STORE_FILES.has(entry.name)) continue;
    const path = join(folder, entry.name);
    const key = relative(root, path);
    if (entry.isDirectory() && isWriterFolder(`${key}/`)) yield* foreignInStore(root, path);
    else if (!entry.isFile() || writerOfKey(key) === undefined) yield path;
  }
}

async function* foreignIn(folder: string, isOurs: (name: string) => boolean): AsyncGenerator<string> {
  for (const entry of await entriesOf(folder)) {
    if (!entry.isDirectory() || !isOurs(entry.name)) yield join(folder, entry.name);
  }
}

async function entriesOf(folder: string) {
  // A folder that cannot be read is told of by the checks of the folders.
  return await readdir(folder, { withFileTypes: true }).catch(() => []);
}
