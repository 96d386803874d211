/** From the service's parts to its place among the replicas that share the catalog. */
import type { Catalog } from '../catalog/catalog.ts';
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

export interface JoinedReplicas extends LiveReplicas, AsyncDisposable {
  /** Resolves when the others can know of this one, and it of them. */
  readonly joined: Promise<void>;
}

/** Joins the others, and leaves when it is disposed of. Joining writes to the catalog, so it starts the thread for that, which takes a while. */
export function joinReplicas(
  service: Service,
  catalog: Catalog,
  { replica: { beats, ...replica }, version }: ReplicaEffects,
  observe: Observe,
): JoinedReplicas {
  const onError = (error: unknown) => {
    // A catalog that is away is reported by those who need it.
    if (!(error instanceof CatalogUnavailable))
      observe({ kind: 'fault', what: 'saying that this replica runs', error });
  };
  const { sleep } = service;
  const replicas = new LiveReplicas({ catalog, replica: { ...replica, version }, beats, sleep, onError });
  const joined = replicas.beat().catch(onError);
  const stop = new AbortController();
  const running = joined.then(() => replicas.run(stop.signal));
  return Object.assign(replicas, {
    joined,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the service has stopped'));
      await running;
    },
  });
}
