/**
 * Publishing from a program: what `import { openPublisher } from 'query-results-service'` gives. On a data directory, with the same
 * settings and guarantees as `qrs publish`; or to a running service elsewhere, over HTTP. What needs a new Node is loaded only once the
 * running one is known to be new enough.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import type { Sleep } from './domain/time.ts';
import { readFileIfThere } from './files/read-if-there.ts';
import { currentLeaseOwner } from './leases/lease-owner.ts';
import type { ServiceAddress } from './library/http/http-publisher.ts';
import { requireNode } from './library/node-version.ts';
import type { Publisher } from './library/publication.ts';
import { loadSettings } from './settings/load-settings.ts';
import { machineMemory } from './settings/machine-memory.ts';

export { CatalogConflict, IllegalTransition, LeaseLost } from './catalog/catalog.ts';
export { ColumnTypeError } from './domain/column-type.ts';
export type { Execution, ExecutionError, ExecutionState } from './domain/execution.ts';
export { StartupError } from './errors/startup-error.ts';
export type { ServiceAddress } from './library/http/http-publisher.ts';
export { AccessError, ServiceError } from './library/http/refusals.ts';
export type {
  Failure,
  FilePublication,
  Progress,
  Publication,
  Publisher,
  RowsPublication,
  Submission,
} from './library/publication.ts';
export { PublishError } from './publishing/publish-error.ts';
export { SettingsError } from './settings/load-settings.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * On a data directory. Settings come from `environment` and, as for the command, from the file that its `QRS_CONFIG_FILE` names, or
 * `qrs.env` in the working directory; the environment wins.
 * @param environment settings by name, such as `{ QRS_DATA_DIR: './data' }`; hand in `process.env` for the process's own
 * @throws SettingsError for a setting that is unknown or wrong · StartupError for a Node that is too old, and for a data directory that
 *   cannot be used
 */
export async function openPublisher(environment: Environment): Promise<Publisher>;
/**
 * To a running service, over HTTP. Nothing is sent before the first call.
 * @throws SettingsError for an address or a key that cannot be one · StartupError for a Node that is too old
 */
export async function openPublisher(service: ServiceAddress): Promise<Publisher>;
export async function openPublisher(target: Environment | ServiceAddress): Promise<Publisher> {
  requireNode(process.versions.node);
  const clock = Date.now;
  const monotonic = () => performance.now();
  const sleep: Sleep = (millis, signal) => wait(millis, undefined, { signal });
  const random = Math.random;
  if (isService(target)) {
    const { openHttpPublisher } = await import('./library/http/http-publisher.ts');
    return openHttpPublisher(target, { clock, sleep, random, newIdempotencyKey: randomUUID });
  }
  const { settings } = loadSettings({ environment: target, readFile: readFileIfThere, machineBytes: machineMemory() });
  const { openLocalPublisher } = await import('./library/local-publisher.ts');
  const newId = monotonicFactory();
  const owner = currentLeaseOwner();
  return await openLocalPublisher(settings, { clock, sleep, monotonic, newId: () => newId(clock()), owner, random });
}

/** An environment may have a variable of any name, such as `url`: but not only that, and not beside `key`. */
function isService(target: Environment | ServiceAddress): target is ServiceAddress {
  return 'url' in target && ('key' in target || Object.keys(target).length === 1);
}
