/** Looks at the curated datasets: whether their source tables can be read, and what came of the last refresh. */

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Service } from '../../compose/service.ts';
import type { Dataset } from '../../datasets/dataset.ts';
import { datasetAgeOf, periodMillisOf } from '../../datasets/dataset-age.ts';
import { counted, durationInWords } from '../../domain/counted.ts';
import { LIVE_MILLIS } from '../../domain/replica.ts';
import { EngineError, type SourceTable } from '../../engine/engine.ts';
import { SETTINGS } from '../../settings/settings.ts';
import { examined, type Finding, wrong } from './finding.ts';

/** A result older than this many periods of the schedule is not just late: refreshing has stopped. */
const PERIODS_MAX = 2;

/** @param nonce makes the name of the file that is written and removed this process's own */
export async function* examineDatasets(service: Service, nonce: string, signal: AbortSignal): AsyncGenerator<Finding> {
  for (const dataset of await service.datasets()) {
    signal.throwIfAborted();
    yield await examined(checkOf(dataset), signal, () => examineDataset(dataset, service, nonce, signal));
  }
}

function checkOf({ name }: Dataset): string {
  return `dataset ${name}`;
}

async function examineDataset(
  dataset: Dataset,
  service: Service,
  nonce: string,
  signal: AbortSignal,
): Promise<Finding> {
  const check = checkOf(dataset);
  const engine = await service.engine();
  const catalog = await service.catalog();
  const now = service.clock();
  const { served, hasExpired, latest, ageMillis = 0 } = await datasetAgeOf(dataset, catalog, now);
  if (served === undefined && !hasExpired && !(await engine.hasAny(dataset.sources, signal))) {
    return { check, status: 'ok', found: `not set up: none of its source tables is in ${service.placeOfSources}` };
  }
  const problem = await sourceProblem(dataset.sources, service, nonce, signal);
  if (problem !== undefined) {
    return wrong(
      check,
      problem,
      service.settings.engine.kind === 'duckdb'
        ? `mend the table in ${service.placeOfSources}, or set ${SETTINGS.sourcesDir.name}`
        : `mend the table in ${service.placeOfSources}, or what the user of ${SETTINGS.engine.name} may read`,
    );
  }
  if (latest?.state === 'FAILED') {
    const found = `its last refresh failed: ${latest.error?.message ?? 'no reason was kept'}`;
    return {
      check,
      status: 'wrong',
      found,
      advice: `mend what it says, then run \`qrs datasets refresh ${dataset.name}\``,
    };
  }
  const isLate = hasExpired || ageMillis > PERIODS_MAX * periodMillisOf(dataset, now);
  // While no service runs, nothing is refreshed: that is no finding.
  if (isLate && (await catalog.replicas.list(LIVE_MILLIS)).length > 0) {
    const since = hasExpired ? 'its last result has expired' : `refreshed ${durationInWords(ageMillis / 1000)} ago`;
    return {
      check,
      status: 'warning',
      found: `${since}, though its schedule is "${dataset.schedule}"`,
      advice: `some process needs ${SETTINGS.schedule.name} and ${SETTINGS.runQueries.name}; \`qrs executions list --query ${dataset.queryId}\` shows whether its runs wait`,
    };
  }
  const found = `${counted(dataset.sources.length, 'source table')}, ${served === undefined ? 'not refreshed yet' : 'refreshed'}`;
  return { check, status: 'ok', found };
}

/** Reads no rows: the files, their columns and their types are what a refresh trips over. One query of all, since the engine starts for each. */
async function sourceProblem(
  sources: readonly SourceTable[],
  service: Service,
  nonce: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (sources.length === 0) return undefined;
  const query = { sql: `SELECT 1 AS n FROM ${sources.map(({ name }) => name).join(', ')} LIMIT 0`, sources };
  const path = join(service.directories.temp, `doctor-${nonce}.parquet`);
  try {
    const engine = await service.engine();
    await engine.materialize(query, path, signal);
    return undefined;
  } catch (error) {
    if (error instanceof EngineError) return error.message;
    throw error;
  } finally {
    await rm(path, { force: true });
  }
}
