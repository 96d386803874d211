/** From the service's parts to its place among the replicas that share the catalog. */
import { CatalogUnavailable } from '../errors/catalog-unavailable.ts';
import type { Observe } from '../observation/observation.ts';
import { LiveReplicas } from '../replicas/live-replicas.ts';
import type { Service } from './service.ts';

export interface ReplicaOfProcess {
  readonly id: string;
  readonly name: string;
  readonly beats: boolean;
}

export interface ReplicaEffects {
  readonly replica: ReplicaOfProcess;
  /** Of the service: `1.2.3`. */
  readonly version: string;
}

/** Joins them, and leaves when it is disposed of. */
export async function joinReplicas(
  service: Service,
  { replica: { beats, ...replica }, version }: ReplicaEffects,
  observe: Observe,
): Promise<LiveReplicas & AsyncDisposable> {
  const onError = (error: unknown) => {
    // Whoever needs the catalog says so itself.
    if (!(error instanceof CatalogUnavailable))
      observe({ kind: 'fault', what: 'saying that this replica runs', error });
  };
  const { sleep } = service;
  const catalog = await service.catalog();
  const replicas = new LiveReplicas({ catalog, replica: { ...replica, version }, beats, sleep, onError });
  await replicas.beat().catch(onError);
  const stop = new AbortController();
  const running = replicas.run(stop.signal);
  return Object.assign(replicas, {
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the service has stopped'));
      await running;
    },
  });
}
