/** Fills an empty data directory with something to try: a user with a key, public queries, and a result of each. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Service } from '../compose.ts';
import { type PublisherEffects, publisherOf } from '../compose-publisher.ts';
import { CURATORS } from '../datasets/register.ts';
import { createKey, type RandomBytes } from '../keys/create-key.ts';
import { publish } from '../publishing/publish.ts';
import { type DemoDatasetsEffects, refreshDemoDatasets } from './demo-datasets.ts';
import { DEMO_QUERIES } from './demo-queries.ts';
import type { Demo } from './requests.ts';

export interface DemoEffects extends PublisherEffects, DemoDatasetsEffects {
  readonly randomBytes: RandomBytes;
}

const DEMO_USER = 'demo';

/** Does nothing where the catalog knows a user or somebody's query already. @param tell one line per step */
export async function fillWithDemo(
  service: Service,
  effects: DemoEffects,
  tell: (line: string) => void,
): Promise<Demo> {
  const { principals, queries } = await service.catalog();
  const theirs = (await queries.list()).filter((query) => query.owner.name !== CURATORS);
  if ((await principals.listUsers()).length > 0 || theirs.length > 0) return { key: undefined, hasQueries: false };
  const owner = { kind: 'user', name: DEMO_USER } as const;
  await principals.addUser(DEMO_USER, service.clock());
  const folder = demoFolder();
  if (folder === undefined) tell('the demo files are not installed (npm package vega-datasets): no results to try');
  for (const { id, name, file, format, types } of folder === undefined ? [] : DEMO_QUERIES) {
    tell(`publishing query ${id}: ${name}`);
    await queries.add({ id, name, owner, visibility: 'public' }, service.clock());
    const { dependencies, options } = await publisherOf(service, effects);
    const source = { kind: 'file', path: join(folder ?? '', file) } as const;
    await publish(dependencies, { queryId: id, source, format, types }, options, effects.signal);
  }
  await refreshDemoDatasets(service, effects, tell);
  const { key } = await createKey(principals, owner, 'demo', service.clock(), effects.randomBytes);
  return { key, hasQueries: folder !== undefined };
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
