/** All curated datasets, ours and an installation's own, loaded and checked against each other. */
import { parseCron } from '../domain/cron.ts';
import { type Dataset, type DatasetOptions, loadDataset } from './dataset.ts';
import { readDatasetFolder } from './dataset-folder.ts';
import * as declared from './declared.ts';

export type Datasets = readonly Dataset[];

/**
 * In order of their names.
 * @throws Error naming the dataset, when its SQL or its schedule cannot be read, or two have the same name, address or
 *   query id.
 */
export async function loadDatasets(options: DatasetOptions): Promise<Datasets> {
  const ours = await Promise.all(Object.values(declared).map((declare) => loadDataset(declare(options))));
  const own = options.datasetsDir === undefined ? [] : await readDatasetFolder(options.datasetsDir);
  const datasets = [...ours, ...own];
  for (const { name, schedule } of datasets) requireSchedule(name, schedule);
  for (const key of ['name', 'path', 'queryId'] as const) {
    const twice = datasets.find((a, i) => datasets.findIndex((b) => a[key] === b[key]) !== i);
    if (twice !== undefined) throw new Error(`two datasets have the ${key} ${twice[key]}`);
  }
  return datasets.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function requireSchedule(name: string, schedule: string): void {
  try {
    parseCron(schedule);
  } catch (error) {
    throw new Error(`dataset ${name}, schedule: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** By the name that people type, or undefined. */
export function findDataset(datasets: Datasets, name: string): Dataset | undefined {
  return datasets.find((dataset) => dataset.name === name);
}
