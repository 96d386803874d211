/** Looks whether every object of every stored result is in the store. Only at their names: `qrs verify` reads them. */
import type { Service } from '../../compose/service.ts';
import { objectsOf } from '../../domain/result-set.ts';
import { storedResults } from '../stored-results.ts';
import { type Finding, wrong } from './finding.ts';

/** Counting stops here. */
const MISSING_MAX = 1000;
const NAMED_MAX = 3;

export async function examineResults(service: Service, signal: AbortSignal): Promise<Finding> {
  const check = 'stored results';
  try {
    const missing = await findMissing(service, signal);
    if (missing.length === 0) return { check, status: 'ok', found: 'none misses an object in the store' };
    const count = missing.length >= MISSING_MAX ? `${MISSING_MAX} or more` : String(missing.length);
    const some = missing.slice(0, NAMED_MAX).join(', ');
    return {
      check,
      status: 'wrong',
      found: `${count} with objects missing from the store, of executions ${some}${missing.length > NAMED_MAX ? ', …' : ''}`,
      advice:
        'restore the store from a backup, or run their queries again; until then older runs are answered as the latest',
    };
  } catch (error) {
    return wrong(check, error);
  }
}

/** The executions of which an object is missing. */
async function findMissing(service: Service, signal: AbortSignal): Promise<readonly string[]> {
  const { executions } = await service.catalog();
  const store = await service.storeAlone();
  const missing: string[] = [];
  for await (const { id, resultSet } of storedResults(executions)) {
    signal.throwIfAborted();
    const gone = await store.findMissing(objectsOf(resultSet).map(({ key }) => key));
    // Expired and swept since the manifest was read: not missing, just gone.
    if (gone.length > 0 && (await executions.hasResultSet(id))) missing.push(id);
    if (missing.length >= MISSING_MAX) break;
  }
  return missing;
}
