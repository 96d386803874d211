/**
 * Compares the clock of this host with the catalog's, which leases go by. Where they differ, leases are right all the same; the times of
 * runs, ticks and expiry, which hosts write, are not.
 */
import type { Catalog } from '../../catalog/catalog.ts';
import { CLOCKS_APART_MILLIS, type Clock } from '../../domain/instant.ts';
import type { Finding } from './finding.ts';

/** A smaller difference may be only the time that a busy machine takes to answer. */
const APART_MILLIS_NOTICED = 1000;

export async function examineClocks(catalog: Pick<Catalog, 'now'>, clock: Clock): Promise<Finding> {
  const check = 'clocks';
  const before = clock();
  const theirs = await catalog.now();
  const after = clock();
  // The catalog looked somewhere between our two looks.
  const apartMillis = theirs < before ? theirs - before : Math.max(0, theirs - after);
  if (Math.abs(apartMillis) < APART_MILLIS_NOTICED) {
    return { check, status: 'ok', found: 'this host and the catalog agree to a second' };
  }
  const seconds = Math.round(Math.abs(apartMillis) / 1000);
  return {
    check,
    status: Math.abs(apartMillis) > CLOCKS_APART_MILLIS ? 'wrong' : 'warning',
    found: `this host is ${seconds} s ${apartMillis > 0 ? 'behind' : 'ahead of'} the catalog's database`,
    advice: 'set the clocks by NTP: runs are ordered, due and kept by the clocks of the hosts',
  };
}
