/**
 * Looks at everything that an installation needs, in the order in which things depend on each other. Each check goes on where
 * the one before failed, so that one run tells all that is wrong, as long as there is something left to look at.
 */

import type { Catalog } from '../../catalog/catalog.ts';
import { openService, type Service } from '../../compose/service.ts';
import { counted } from '../../domain/counted.ts';
import type { Clock } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';
import { loadSettings, type SettingsInput } from '../../settings/load-settings.ts';
import type { Settings } from '../../settings/settings.ts';
import { storedResults } from '../stored-results.ts';
import { examineClocks } from './clocks.ts';
import { examineDatasets } from './datasets.ts';
import { examineEngine } from './engine.ts';
import { examined, type Finding, wrong } from './finding.ts';
import { examineFolders } from './folders.ts';
import { examineClock, examineForeignFiles, examineInstallation } from './installation.ts';
import { examineLeases } from './leases.ts';
import { examineLists, LISTS } from './lists.ts';
import { examineMemory } from './memory.ts';
import { examineQueryIds } from './query-ids.ts';
import { examineReplicas } from './replicas.ts';
import { examineResults } from './results.ts';

export interface DoctorEffects extends SettingsInput {
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly monotonic: () => number;
  /** Of a file name: letters and digits that no other process has. */
  readonly nonce: string;
  readonly signal: AbortSignal;
}

export async function* examine(effects: DoctorEffects): AsyncGenerator<Finding> {
  const { clock, nonce, signal } = effects;
  const { finding, settings } = examineSettings(effects);
  yield finding;
  if (settings === undefined) return;
  yield examineMemory(settings, effects.machineBytes);
  const service = await openService(settings, effects).catch((error: unknown) => wrong('data directory', error));
  if ('check' in service) {
    yield service;
    return;
  }
  await using _ = service;
  yield* examineFolders(service.directories, nonce);
  const catalog = await examineCatalog(service);
  yield catalog;
  yield await examineStore(service);
  if (settings.store.kind === 's3') yield await examined(LISTS, signal, async () => await examineLists(service));
  yield await examineForeignFiles(service);
  if (catalog.status === 'wrong') return;
  yield await examineInstallation(service);
  yield await examineResults(service, signal);
  yield await examined('clock', signal, () => examineClock(service));
  if (settings.catalog.kind === 'postgres') {
    yield await examined('clocks', signal, async () => await examineClocks(await service.catalog(), clock));
  }
  yield await examined('leases', signal, async () => await examineLeases(await service.catalog()));
  yield await examined('replicas', signal, async () => await examineReplicas(await service.catalog()));
  const datasets = await service.datasets().catch((error: unknown) => wrong('datasets', error));
  if ('check' in datasets) {
    yield datasets;
    return;
  }
  yield await examined('query ids', signal, async () => await examineQueryIds(await service.catalog(), datasets));
  if (settings.engine.kind === 'trino') {
    const engine = await examineEngine(service, signal);
    yield engine;
    if (engine.status === 'wrong') return;
  }
  yield* examineDatasets(service, nonce, signal);
}

function examineSettings(input: SettingsInput): { readonly finding: Finding; readonly settings?: Settings } {
  const check = 'settings';
  try {
    const { settings, effective } = loadSettings(input);
    const given = effective.filter(({ source }) => source !== 'default').length;
    const found = `${given} given, ${effective.length - given} at their defaults`;
    return { finding: { check, status: 'ok', found }, settings };
  } catch (error) {
    return {
      finding: wrong(check, error, '`qrs config` prints every setting, docs/reference/settings.md explains them'),
    };
  }
}

/** That it opens says that it is ours and not newer than this program: neither would be opened. */
async function examineCatalog(service: Service): Promise<Finding> {
  const check = 'catalog';
  try {
    const catalog = await service.catalog();
    await catalog.check();
    await catalog.verify();
    await readResults(catalog);
    const [queries, users] = [await catalog.queries.list(), await catalog.principals.listUsers()];
    const found = `whole, can be written, ${counted(queries.length, 'query', 'queries')} and ${counted(users.length, 'user')}`;
    return { check, status: 'ok', found };
  } catch (error) {
    return wrong(check, error);
  }
}

/** A page of the file may be sound while what stands on it is not. @throws where the manifest of a result cannot be read */
async function readResults({ executions }: Catalog): Promise<void> {
  let afterId = '';
  try {
    for await (const { id } of storedResults(executions)) afterId = id;
  } catch (error) {
    throw new Error(`the catalog is damaged: of the results with ids above "${afterId}" one cannot be read: ${error}`);
  }
}

async function examineStore(service: Service): Promise<Finding> {
  const check = 'store';
  try {
    const store = await service.storeAlone();
    await store.check();
    return { check, status: 'ok', found: 'can be written; `qrs verify` reads every object' };
  } catch (error) {
    return wrong(check, error);
  }
}
