/** Looks whether every object of every stored result is in the store, and may be read. Not at what is in them: `qrs verify` reads them. */
import type { Service } from '../../compose/service.ts';
import { objectsOf } from '../../domain/result-set.ts';
import { storedResults } from '../stored-results.ts';
import { type Finding, wrong } from './finding.ts';

/** Counting stops here. */
const AMISS_MAX = 1000;
const NAMED_MAX = 3;

export async function examineResults(service: Service, signal: AbortSignal): Promise<Finding> {
  const check = 'stored results';
  try {
    const { missing, unreadable } = await findAmiss(service, signal);
    const found: string[] = [];
    const advice: string[] = [];
    if (missing.length > 0) {
      found.push(`${countOf(missing)} with objects missing from the store, of executions ${namesOf(missing)}`);
      advice.push(
        'restore the store from a backup, or run their queries again; until then older runs are answered as the latest',
      );
    }
    if (unreadable.length > 0) {
      found.push(`${countOf(unreadable)} with objects that cannot be read, of executions ${namesOf(unreadable)}`);
      advice.push(
        'give the user of the service the right to read them: a restore by another user, such as root, leaves them to that one',
      );
    }
    if (found.length === 0) return { check, status: 'ok', found: 'none misses an object in the store' };
    return { check, status: 'wrong', found: found.join('; '), advice: advice.join('; ') };
  } catch (error) {
    return wrong(check, error);
  }
}

/** The executions of which an object is not there, or is there for others only. */
interface Amiss {
  readonly missing: readonly string[];
  readonly unreadable: readonly string[];
}

async function findAmiss(service: Service, signal: AbortSignal): Promise<Amiss> {
  const { executions } = await service.catalog();
  const store = await service.storeAlone();
  const missing: string[] = [];
  const unreadable: string[] = [];
  for await (const { id, resultSet } of storedResults(executions)) {
    signal.throwIfAborted();
    const keys = objectsOf(resultSet).map(({ key }) => key);
    const gone = await store.findMissing(keys);
    // Expired and swept since the manifest was read: not missing, just gone.
    if (gone.length > 0 && (await executions.hasResultSet(id))) missing.push(id);
    else if ((await store.findUnreadable(keys)).length > 0) unreadable.push(id);
    if (missing.length + unreadable.length >= AMISS_MAX) break;
  }
  return { missing, unreadable };
}

function countOf(ids: readonly string[]): string {
  return ids.length >= AMISS_MAX ? `${AMISS_MAX} or more` : String(ids.length);
}

function namesOf(ids: readonly string[]): string {
  return `${ids.slice(0, NAMED_MAX).join(', ')}${ids.length > NAMED_MAX ? ', …' : ''}`;
}
