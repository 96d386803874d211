/** Results and the objects that they consist of. */
import { createHash } from 'node:crypto';
import type { Instant } from '../../src/domain/instant.ts';
import { writeResource } from '../../src/domain/lease-names.ts';
import { objectsOf, type ResultSet } from '../../src/domain/result-set.ts';
import type { Row } from '../database/changeset.ts';
import type { Bucket } from '../store.ts';
import type { CommittedRows, WholeChange } from './committed-rows.ts';
import type { LeaseInvariants } from './leases.ts';
import type { Violations } from './violations.ts';

const WHOLE = 'A result is visible whole or not at all.';
const NEEDED = 'An object that a visible result needs is never deleted.';
const READ = 'An object that a long read holds is never deleted.';
const UNEXPIRED = 'Nothing unexpired is deleted.';
const EXPIRED = 'Nothing expired is served.';
const FENCED = 'A writer with an older token never commits.';
const PRUNED = 'Pruning leaves the newest results of a query.';
const ORPHAN = 'What nobody needs is deleted in the end.';

/** So many results of a query stay when it is pruned. */
export const KEPT = 2;

export interface ResultParts {
  readonly violations: Violations;
  readonly bucket: Bucket;
  readonly rows: CommittedRows;
  readonly leases: LeaseInvariants;
  readonly clocksApartMillis: number;
  /** How late a commit of another process may be noticed. */
  readonly boundMillis: number;
}

export class ResultInvariants {
  readonly #parts: ResultParts;
  /** When the expiry of a result was moved to an earlier time. */
  readonly #prunedAt = new Map<string, Instant>();
  /** Whose result needs an object. */
  readonly #needed = new Map<string, string>();
  /** Which long reads hold an object, and whether their lease still runs. */
  readonly #held = new Map<string, Set<() => boolean>>();

  constructor(parts: ResultParts) {
    this.#parts = parts;
    parts.bucket.onDelete = (key) => this.#deleted(key);
  }

  /** A change of a manifest. */
  take({ before, after }: WholeChange, now: Instant): void {
    const { violations, clocksApartMillis } = this.#parts;
    if (after !== undefined && before === undefined) this.#appeared(String(after.execution_id), String(after.manifest));
    if (before !== undefined && Number(after?.expires_at) < Number(before.expires_at)) this.#pruned(before, now);
    if (after !== undefined || before === undefined) return;
    for (const { key } of manifestOf(before.manifest)) this.#needed.delete(key);
    const expiresAt = Number(before.expires_at);
    if (expiresAt > now + clocksApartMillis) {
      violations.found(UNEXPIRED, `the result of ${before.execution_id}, ${expiresAt - now} ms too early`);
    }
  }

  /**
   * A result is about to be answered with.
   * @param startedAt true time of the request
   * @param ownNow the time by the clock of whoever answers
   */
  served(executionId: string, startedAt: Instant, ownNow: Instant): void {
    const { violations, boundMillis } = this.#parts;
    const expiresAt = this.#expiryOf(executionId);
    const mayNotKnow = startedAt <= (this.#prunedAt.get(executionId) ?? 0) + boundMillis;
    if (expiresAt > ownNow || mayNotKnow) return;
    violations.found(EXPIRED, `${executionId} was served ${ownNow - expiresAt} ms after it had expired`);
  }

  /**
   * A read found no object where a visible result has one.
   * @param startedAt true time of the request. Who has a clock that is behind may ask for what expired long ago, and is told that it is gone
   */
  incomplete(executionId: string, startedAt: Instant, why: string): void {
    const { violations, clocksApartMillis } = this.#parts;
    if (startedAt <= this.#expiryOf(executionId) + clocksApartMillis) {
      violations.found(WHOLE, `${executionId} was read, and ${why}`);
    }
  }

  /** A long read holds the objects of a result until it is disposed of, and as long as its lease runs by true time. */
  hold(resultSet: ResultSet, isHeld: () => boolean): Disposable {
    const keys = objectsOf(resultSet).map(({ key }) => key);
    for (const key of keys) this.#held.set(key, (this.#held.get(key) ?? new Set()).add(isHeld));
    return {
      [Symbol.dispose]: () => {
        for (const key of keys) this.#held.get(key)?.delete(isHeld);
      },
    };
  }

  /** Long after the last fault. @param oldest what is as old must be needed by a result */
  inTheEnd(oldest: Instant): void {
    const { bucket, violations } = this.#parts;
    for (const [key, { modifiedAt }] of bucket.objects) {
      if (modifiedAt <= oldest && !this.#needed.has(key)) violations.found(ORPHAN, `${key} is still in the store`);
    }
  }

  /** Its expiry was moved: so many newer runs of the query must have had results. */
  #pruned({ execution_id: id, query_id: queryId, ordered_at: orderedAt }: Row, now: Instant): void {
    const { rows, violations } = this.#parts;
    this.#prunedAt.set(String(id), now);
    const newer = [...rows.of('executions').values()].filter(
      (run) => run.query_id === queryId && run.expires_at !== null && Number(run.ordered_at) >= Number(orderedAt),
    );
    // It is among them itself.
    if (newer.length - 1 < KEPT) violations.found(PRUNED, `${id} was pruned, and ${newer.length - 1} are newer`);
  }

  #appeared(executionId: string, manifest: string): void {
    const { bucket, violations, leases } = this.#parts;
    const objects = manifestOf(manifest);
    for (const { key, sha256 } of objects) {
      const bytes = bucket.objects.get(key)?.bytes;
      if (bytes === undefined) violations.found(WHOLE, `${executionId} was committed without its object ${key}`);
      else if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
        violations.found(WHOLE, `${executionId} was committed with other bytes in ${key}`);
      }
      this.#needed.set(key, executionId);
    }
    const token = objects[0]?.key.split('/')[1];
    const last = leases.lastToken(writeResource(executionId));
    if (token !== undefined && Number(token) !== last) {
      violations.found(FENCED, `${executionId} was committed by token ${token} after token ${last} was given`);
    }
  }

  #deleted(key: string): void {
    const { violations } = this.#parts;
    const executionId = this.#needed.get(key);
    if (executionId !== undefined) violations.found(NEEDED, `${key} of ${executionId}`);
    if ([...(this.#held.get(key) ?? [])].some((isHeld) => isHeld())) violations.found(READ, key);
  }

  #expiryOf(executionId: string): Instant {
    return Number(this.#parts.rows.of('executions').get(`executions ${executionId}`)?.expires_at ?? Infinity);
  }
}

function manifestOf(manifest: unknown) {
  return objectsOf(JSON.parse(String(manifest)) as ResultSet);
}
