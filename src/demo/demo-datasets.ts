/** The datasets of the demo: made-up sources, and a first refresh of each, so that their addresses answer at once. */
import { mkdir, readdir } from 'node:fs/promises';
import type { Service } from '../compose.ts';
import { type DatasetEffects, scheduleOf } from '../compose-datasets.ts';
import { lastMidnight, writeDemoSources } from '../datasets/demo-sources/write-demo-sources.ts';
import { Schedule } from '../scheduler/schedule.ts';

export interface DemoDatasetsEffects extends DatasetEffects {
  readonly signal: AbortSignal;
}

/** Sources that are there already are used as they are, and a folder that the settings name is never written to. */
export async function refreshDemoDatasets(
  service: Service,
  effects: DemoDatasetsEffects,
  tell: (line: string) => void,
): Promise<void> {
  const { settings, directories, clock } = service;
  if (settings.sourcesDir === undefined) {
    await mkdir(directories.sources, { recursive: true });
    if ((await readdir(directories.sources)).length === 0) {
      tell('writing source tables for the curated datasets');
      const until = lastMidnight(clock());
      await writeDemoSources(directories.sources, { size: 'small', until, signal: effects.signal });
    }
  }
  // By way of the schedule, which then knows that these ticks are done.
  const deps = await scheduleOf(service, effects);
  await new Schedule({ ...deps, chores: [] }).runDue(effects.signal);
}
