/** What `/healthz` and `/readyz` look at. */
import type { Catalog } from '../catalog/catalog.ts';
import { NotReady } from '../errors/not-ready.ts';
import { StartupError } from '../errors/startup-error.ts';
import type { HealthDeps } from '../http/health.ts';
import { Readiness } from '../http/readiness.ts';
import { requireStillJoined } from '../maintenance/installation.ts';
import type { Observe } from '../observation/observation.ts';
import type { MissingResults } from '../results/cache/missing-results.ts';
import type { ResultStore } from '../store/result-store.ts';
import type { Service } from './service.ts';

interface Checked {
  readonly catalog: Catalog;
  readonly store: ResultStore;
  readonly missing: MissingResults;
}

export function healthOf(
  { catalog, store, missing }: Checked,
  observe: Observe,
  { monotonic, sleep }: Service,
): HealthDeps {
  const readiness = new Readiness({
    checks: {
      catalog: () => catalog.check(),
      store: async () => {
        await store.check();
        await requireJoined(catalog, store);
        await missing.lookAgain();
      },
    },
    monotonic,
    sleep,
    onFailed: (name, error) => observe({ kind: 'fault', what: `not ready: the ${name}`, error }),
  });
  return { readiness, missingResults: () => missing.count };
}

/** @throws NotReady with a reason that callers may be told */
async function requireJoined(catalog: Catalog, store: ResultStore): Promise<void> {
  try {
    await requireStillJoined({ catalog, store });
  } catch (error) {
    const other = 'it is not the one that belongs to the catalog';
    const unknown = 'whether it belongs to the catalog cannot be told';
    throw new NotReady(error instanceof StartupError ? other : unknown, { cause: error });
  }
}
