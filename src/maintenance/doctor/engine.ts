/**
 * Checks whether the cluster that runs the SQL answers. Once, before the datasets: each of them would wait for it in vain, and be reported as
 * wrong.
 */
import type { Service } from '../../compose/service.ts';
import { EngineUnavailable } from '../../engine/engine.ts';
import { SETTINGS } from '../../settings/settings.ts';
import { type Finding, wrong } from './finding.ts';

export async function examineEngine(service: Service, signal: AbortSignal): Promise<Finding> {
  const check = 'engine';
  try {
    const engine = await service.engine();
    await engine.check({ sql: 'SELECT 1 AS n', sources: [] }, signal);
    return { check, status: 'ok', found: `answers: ${service.placeOfSources}` };
  } catch (error) {
    signal.throwIfAborted();
    const advice = `while that is so no query is run and no dataset refreshed, and datasets are not looked at; its address is ${SETTINGS.engine.name}`;
    if (!(error instanceof EngineUnavailable) || !(error.cause instanceof Error)) return wrong(check, error, advice);
    return wrong(check, `${error.message} (${error.cause.message}): ${service.placeOfSources}`, advice);
  }
}
