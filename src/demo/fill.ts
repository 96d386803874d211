/** Fills an empty data directory with something to try: a user with a key, public queries, and a result of each. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Catalog } from '../catalog/catalog.ts';
import { type PublisherEffects, publishArguments } from '../compose/publishing.ts';
import type { Service } from '../compose/service.ts';
import { CURATORS, unlessThere } from '../datasets/register.ts';
import { STATES } from '../domain/execution.ts';
import type { Query } from '../domain/query.ts';
import { createKey, type RandomBytes } from '../keys/create-key.ts';
import { publish } from '../publishing/publish.ts';
import { type DemoDatasetsEffects, refreshDemoDatasets } from './demo-datasets.ts';
import { DEMO_QUERIES } from './demo-queries.ts';

export interface DemoEffects extends PublisherEffects, DemoDatasetsEffects {
  readonly randomBytes: RandomBytes;
}

const DEMO_USER = 'demo';

export interface FilledDemo {
  /** Whether the demo's own queries are there, or only the curated datasets. */
  readonly hasQueries: boolean;
  /** The key of the demo's user: the last step, after which the demo is complete and never filled again. */
  readonly createKey: () => Promise<string>;
}

/**
 * Fills an empty data directory, or goes on where an earlier filling was interrupted: undefined where there is anything else. Two that
 * fill it at once both come to an end; a result may then be there twice.
 * @param tell one line per step
 */
export async function fillWithDemo(
  service: Service,
  effects: DemoEffects,
  tell: (line: string) => void,
): Promise<FilledDemo | undefined> {
  const catalog = await service.catalog();
  if (!(await isUnfinished(catalog))) return undefined;
  const owner = { kind: 'user', name: DEMO_USER } as const;
  const { principals } = catalog;
  await unlessThere(principals.addUser(DEMO_USER, service.clock()));
  const folder = demoFolder();
  if (folder === undefined) tell('the demo files are not installed (npm package vega-datasets): no results to try');
  else await publishQueries(folder, catalog, service, effects, tell);
  await refreshDemoDatasets(service, effects, tell);
  return {
    hasQueries: folder !== undefined,
    createKey: async () =>
      (await createKey(principals, owner, { name: 'demo', scope: 'write' }, service.clock(), effects.randomBytes)).key,
  };
}

/** Nobody has put anything here but a filling that did not come to its end, which is the key. */
async function isUnfinished({ principals, queries }: Catalog): Promise<boolean> {
  const users = await principals.listUsers();
  if (users.some(({ name }) => name !== DEMO_USER) || (await principals.listKeys()).length > 0) return false;
  const ours = ({ id, owner }: Query) =>
    owner.name === CURATORS || (owner.name === DEMO_USER && DEMO_QUERIES.some((query) => query.id === id));
  return (await queries.list()).every(ours);
}

async function publishQueries(
  folder: string,
  { queries, executions }: Catalog,
  service: Service,
  effects: DemoEffects,
  tell: (line: string) => void,
): Promise<void> {
  const owner = { kind: 'user', name: DEMO_USER } as const;
  for (const { id, name, file, format, types } of DEMO_QUERIES) {
    await unlessThere(queries.add({ id, name, owner, visibility: 'public' }, service.clock()));
    const latest = await executions.findLatest(id, {}, service.clock());
    if (latest !== undefined && STATES[latest.state].hasResult) continue;
    tell(`publishing query ${id}: ${name}`);
    const { dependencies, options } = await publishArguments(service, effects);
    const source = { kind: 'file', path: join(folder, file) } as const;
    await publish(dependencies, { queryId: id, source, format, types }, options, effects.signal);
  }
}

/** The package says only where its code is; its data lies beside. */
function demoFolder(): string | undefined {
  try {
    const code = fileURLToPath(import.meta.resolve('vega-datasets'));
    const folder = join(dirname(code), '..', 'data');
    return existsSync(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}
