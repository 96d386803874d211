/**
 * Delivers what waits in the outbox. One process does at a time, under a lease. What it was about to send when it died, or could not write
 * down, is sent again by the next: at least once, under the same id, in no order.
 */
import type { Catalog, DueDelivery, RecordedAttempt } from '../catalog/catalog.ts';
import { CLOCKS_APART_MILLIS, type Clock } from '../domain/instant.ts';
import { pause, type Sleep } from '../domain/time.ts';
import type { WebhookAttempt } from '../domain/webhook.ts';
import { KeptLease, type LeaseOptions } from '../leases/kept-lease.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';
import { type Verdict, verdictOn } from './next-attempt.ts';
import type { Post } from './post.ts';
import { signedHeaders } from './secret.ts';

export interface DelivererDeps {
  readonly catalog: Pick<Catalog, 'webhooks' | 'leases' | 'now'>;
  readonly leases: LeaseOptions;
  readonly post: Post;
  /** Puts what has become stale into the outbox. */
  readonly tellStale: () => Promise<void>;
  readonly clock: Clock;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly observe: (attempt: WebhookAttempt) => void;
  /** Told when something failed. Delivering goes on. */
  readonly onFault: (what: string, error: unknown) => void;
}

const RESOURCE = 'webhooks';
const WHAT = 'delivering webhooks';
/** How often a process that does not deliver looks: whether there is a webhook now, or the process that delivers is gone. */
const IDLE_MILLIS = 5000;
/** How often the process that delivers looks for new messages. */
const POLL_MILLIS = 1000;
const STALE_LOOK_MILLIS = 60_000;
const IN_FLIGHT_MAX = 32;
/** Attempts in flight to one webhook. */
const OF_EACH_MAX = 4;
/** Attempts in flight to all webhooks whose last attempt failed, so that those that answer need not wait for them. */
const TROUBLED_MAX = IN_FLIGHT_MAX / 2;
/** If the outcome of an attempt cannot be recorded, it is tried again after the first pause; each pause is twice the one before, up to the longest. */
const RECORD_MILLIS = { first: 1000, max: 60_000 };

/** Runs until the signal is aborted; attempts in flight are then broken off. Resolves when they have ended. */
export async function deliverWebhooks(deps: DelivererDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      if (await deps.catalog.webhooks.hasActive()) await deliverAlone(deps, signal);
    } catch (error) {
      if (!signal.aborted) deps.onFault(WHAT, error);
    }
    await pause(IDLE_MILLIS, deps.sleep, signal);
  }
}

async function deliverAlone(deps: DelivererDeps, signal: AbortSignal): Promise<void> {
  const lease = await takeTurn(deps);
  if (lease === undefined) return;
  await using held = lease;
  await new Deliverer(deps).run(AbortSignal.any([signal, held.signal]));
}

/** The lease for delivering; undefined while another process has it. Asks for it only when it seems free, so that waiting processes write nothing. */
async function takeTurn({ catalog, leases, onFault }: DelivererDeps): Promise<KeptLease | undefined> {
  const now = await catalog.now();
  for (const lease of await catalog.leases.list(RESOURCE)) {
    if (isLeaseOwnerDead(lease.owner)) await catalog.leases.revoke(lease);
    else if (lease.expiresAt > now && lease.expiresAt <= now + leases.leaseMillis + CLOCKS_APART_MILLIS)
      return undefined;
  }
  const onError = (error: unknown) => onFault(WHAT, error);
  return await KeptLease.acquire(RESOURCE, { during: `while ${WHAT}`, onError }, leases);
}

class Deliverer {
  readonly #deps: DelivererDeps;
  /** By webhook and event. */
  readonly #inFlight = new Map<string, { readonly webhookId: string; readonly ended: Promise<void> }>();
  /** Those that have ended since the outbox was asked. It may answer as it was before, when they were due. */
  readonly #endedSince = new Set<string>();
  readonly #troubled = new Set<string>();
  #pause = new AbortController();

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { catalog, monotonic, tellStale, onFault } = this.#deps;
    let lookedAt = Number.NEGATIVE_INFINITY;
    try {
      while (!signal.aborted) {
        this.#pause = new AbortController();
        if (monotonic() - lookedAt >= STALE_LOOK_MILLIS) {
          lookedAt = monotonic();
          if (!(await catalog.webhooks.hasActive())) return;
          await tellStale().catch((error: unknown) => onFault('looking for stale datasets', error));
        }
        this.#endedSince.clear();
        this.#begin(await catalog.webhooks.listDue(OF_EACH_MAX), signal);
        await this.#untilNext(signal);
      }
    } finally {
      await Promise.all([...this.#inFlight.values()].map(({ ended }) => ended));
    }
  }

  #begin(due: readonly DueDelivery[], signal: AbortSignal): void {
    const isTroubled = ({ webhook }: DueDelivery) => this.#troubled.has(webhook.id);
    for (const delivery of [...due.filter((one) => !isTroubled(one)), ...due.filter(isTroubled)]) {
      if (signal.aborted || this.#inFlight.size >= IN_FLIGHT_MAX) return;
      const { webhook, eventId } = delivery;
      const name = `${webhook.id} ${eventId}`;
      if (this.#inFlight.has(name) || this.#endedSince.has(name) || !this.#hasRoom(webhook.id)) continue;
      const ended = this.#attempt(delivery, signal).finally(() => {
        this.#inFlight.delete(name);
        this.#endedSince.add(name);
        this.#pause.abort();
      });
      this.#inFlight.set(name, { webhookId: webhook.id, ended });
    }
  }

  #hasRoom(webhookId: string): boolean {
    const ids = [...this.#inFlight.values()].map((one) => one.webhookId);
    if (!this.#troubled.has(webhookId)) return ids.filter((id) => id === webhookId).length < OF_EACH_MAX;
    // One at a time, until one succeeds.
    return !ids.includes(webhookId) && ids.filter((id) => this.#troubled.has(id)).length < TROUBLED_MAX;
  }

  /** Never rejects. */
  async #attempt(delivery: DueDelivery, signal: AbortSignal): Promise<void> {
    const { webhook, eventId, payload: body } = delivery;
    const { post, clock, observe } = this.#deps;
    try {
      const message = { id: eventId, seconds: Math.floor(clock() / 1000), body };
      const outcome = await post({ url: webhook.url, headers: signedHeaders(message, webhook.secret), body }, signal);
      const verdict = verdictOn(outcome, delivery, this.#deps);
      if (verdict.kind === 'delivered') this.#troubled.delete(webhook.id);
      else this.#troubled.add(webhook.id);
      await this.#record(delivery, verdict, signal);
      observe(observed(delivery, verdict));
    } catch (error) {
      // An attempt that was broken off is due again at once, for the process that delivers next.
      if (!signal.aborted) this.#deps.onFault(WHAT, error);
    }
  }

  /** Records the outcome. Until it is recorded the message stays due, so this is tried until it succeeds or another process delivers. */
  async #record({ webhook, eventId }: DueDelivery, verdict: Verdict, signal: AbortSignal): Promise<void> {
    const { catalog, sleep, onFault } = this.#deps;
    for (let wait = RECORD_MILLIS.first; ; wait = Math.min(wait * 2, RECORD_MILLIS.max)) {
      try {
        await catalog.webhooks.record(recorded(webhook.id, eventId, verdict));
        if (verdict.kind === 'gone') await catalog.webhooks.disable(webhook.id, verdict.error);
        return;
      } catch (error) {
        onFault('writing down what came of a webhook', error);
        if (signal.aborted) return;
        await sleep(wait, signal);
      }
    }
  }

  /** Waits for the next look, or until an attempt has ended. */
  async #untilNext(signal: AbortSignal): Promise<void> {
    const { sleep } = this.#deps;
    await pause(POLL_MILLIS, sleep, AbortSignal.any([signal, this.#pause.signal]));
  }
}

function recorded(webhookId: string, eventId: string, verdict: Verdict): RecordedAttempt {
  const { kind, ...rest } = verdict;
  return { webhookId, eventId, ...rest };
}

function observed({ webhook, eventId }: DueDelivery, verdict: Verdict): WebhookAttempt {
  const names = { webhookId: webhook.id, eventId };
  if (verdict.kind === 'delivered') return { outcome: 'delivered', ...names };
  const isLast = verdict.kind === 'gone' || verdict.retryInMillis === undefined;
  return { outcome: isLast ? 'given_up' : 'failed', ...names, error: verdict.error };
}
