/** The datasets of the demo: made-up sources, and a first refresh of each, so that their addresses answer at once. */
import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunEffects, runnerOf, runQueueOf } from '../compose/runs.ts';
import { type ScheduleEffects, scheduleOf } from '../compose/schedule.ts';
import type { Service } from '../compose/service.ts';
import { lastMidnight, writeDemoSources } from '../datasets/demo-sources/write-demo-sources.ts';
import { registerDatasets } from '../datasets/register.ts';
import { STATES } from '../domain/execution.ts';
import { makeFolder } from '../files/make-folder.ts';
import { makeScratchFolder } from '../files/scratch-folder.ts';
import { runNow } from '../runs/run-now.ts';
import { Schedule } from '../scheduler/schedule.ts';

export interface DemoDatasetsEffects extends RunEffects, ScheduleEffects {
  readonly signal: AbortSignal;
}

/** Sources that are there already are used as they are, and a folder that the settings name is never written to. */
export async function refreshDemoDatasets(
  service: Service,
  effects: DemoDatasetsEffects,
  tell: (line: string) => void,
): Promise<void> {
  const { settings, directories, clock } = service;
  if (settings.engine.kind === 'duckdb' && settings.sourcesDir === undefined) {
    await makeFolder(directories.sources);
    if ((await readdir(directories.sources)).length === 0) {
      tell('writing source tables for the curated datasets');
      const until = lastMidnight(clock());
      await using scratch = await makeScratchFolder(directories.temp);
      const written = join(scratch.path, 'sources');
      await writeDemoSources(written, { size: 'small', until, signal: effects.signal, sleep: service.sleep });
      // All of them or none: some, left by a filling that was interrupted, would be taken for somebody's own.
      await rename(written, directories.sources).catch(async (error: unknown) => {
        // Another filling was quicker, and its tables are the same.
        if ((await readdir(directories.sources)).length === 0) throw error;
      });
    }
  }
  // By way of the schedule, which then knows that these ticks are done.
  const catalog = await service.catalog();
  const { datasets } = await registerDatasets(catalog, await service.datasets(), clock());
  const queue = await runQueueOf(service, effects);
  await new Schedule({ ...(await scheduleOf(service, effects, queue)), tasks: [] }).runDue(effects.signal);
  const runner = await runnerOf(service, queue, effects);
  for (const { queryId } of datasets) {
    const [run] = await catalog.executions.list({ queryId, limit: 1 });
    if (run !== undefined && !STATES[run.state].terminal) await runNow(run.id, runner, effects.signal);
  }
}
