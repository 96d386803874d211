/**
 * The right to write one execution's objects. Losing it aborts the work: another process took this one for dead and may have
 * swept what it wrote, so nothing may be committed.
 */
import { writeResource } from '../domain/lease-names.ts';
import { KeptLease, type LeaseOptions } from './kept-lease.ts';

/** The lease, or undefined while somebody else writes this execution. One that cannot be given back runs out by itself. */
export async function acquireWriteLease(executionId: string, options: LeaseOptions): Promise<KeptLease | undefined> {
  const work = { during: 'while publishing', onError: () => undefined };
  return await KeptLease.acquire(writeResource(executionId), work, options);
}
