/** The datasets of the demo: made-up sources, and a first refresh of each, so that their addresses answer at once. */
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type DatasetEffects, scheduleOf } from '../compose/schedule.ts';
import type { Service } from '../compose/service.ts';
import { lastMidnight, writeDemoSources } from '../datasets/demo-sources/write-demo-sources.ts';
import { makeFolder } from '../files/make-folder.ts';
import { makeScratchFolder } from '../files/scratch-folder.ts';
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
    await makeFolder(directories.sources);
    if ((await readdir(directories.sources)).length === 0) {
      tell('writing source tables for the curated datasets');
      const until = lastMidnight(clock());
      await using scratch = await makeScratchFolder(directories.temp);
      const written = join(scratch.path, 'sources');
      await writeDemoSources(written, { size: 'small', until, signal: effects.signal, sleep: service.sleep });
      // All of them or none: some, left by a filling that was interrupted, would be taken for somebody's own.
      await rename(written, directories.sources);
    }
  }
  // By way of the schedule, which then knows that these ticks are done.
  const deps = await scheduleOf(service, effects);
  await new Schedule({ ...deps, tasks: [] }).runDue(effects.signal);
}
