/** The catalog and the store of a command line, wherever they are, for what no command tells or does. They are opened as the service opens them. */
import { openService, type Service } from '../../src/compose/service.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { sleep } from '../real-time.ts';
import type { CommandLine } from './command.ts';

/** What makes up a service on this data directory, none of which is opened before it is asked for. */
export async function openBehind(qrs: CommandLine): Promise<Service> {
  const { settings } = loadSettings({
    environment: { QRS_DATA_DIR: qrs.dataDir, ...qrs.catalog },
    readFile: () => undefined,
  });
  return await openService(settings, { clock: () => qrs.now, sleep, monotonic: () => performance.now() });
}

/** The keys of all stored objects, in order. */
export async function storedKeys(qrs: CommandLine): Promise<readonly string[]> {
  await using behind = await openBehind(qrs);
  const store = await behind.storeAlone();
  return (await Array.fromAsync(store.list(''), ({ key }) => key)).sort();
}
