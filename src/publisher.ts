/**
 * Publishing from a program: what `import { openPublisher } from 'query-results-service'` gives. The same settings, data
 * directory and guarantees as `qrs publish`; a running service shows the result with its next request. What needs a new Node is
 * loaded only once the running one is known to be new enough.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import type { Sleep } from './domain/time.ts';
import { readFileIfThere } from './files/read-if-there.ts';
import { currentLeaseOwner } from './leases/lease-owner.ts';
import { requireNode } from './library/node-version.ts';
import type { Publisher } from './library/publication.ts';
import { loadSettings } from './settings/load-settings.ts';
import { machineMemory } from './settings/machine-memory.ts';

export { CatalogConflict, IllegalTransition, LeaseLost } from './catalog/catalog.ts';
export { ColumnTypeError } from './domain/column-type.ts';
export type { Execution, ExecutionError, ExecutionState } from './domain/execution.ts';
export { StartupError } from './errors/startup-error.ts';
export type {
  Failure,
  FilePublication,
  Publication,
  Publisher,
  RowsPublication,
  Submission,
} from './library/publication.ts';
export type { Progress } from './publishing/publish.ts';
export { PublishError } from './publishing/publish-error.ts';
export { SettingsError } from './settings/load-settings.ts';

/**
 * Settings come from `environment` and, as for the command, from the file that its `QRS_CONFIG_FILE` names, or `qrs.env` in the
 * working directory; the environment wins.
 * @param environment settings by name, such as `{ QRS_DATA_DIR: './data' }`; hand in `process.env` for the process's own
 * @throws SettingsError for a setting that is unknown or wrong · StartupError for a Node that is too old, and for a data directory that
 *   cannot be used
 */
export async function openPublisher(environment: Readonly<Record<string, string | undefined>>): Promise<Publisher> {
  requireNode(process.versions.node);
  const clock = Date.now;
  const sleep: Sleep = (millis, signal) => wait(millis, undefined, { signal });
  const { settings } = loadSettings({ environment, readFile: readFileIfThere, machineBytes: machineMemory() });
  const { openLocalPublisher } = await import('./library/local-publisher.ts');
  const newId = monotonicFactory();
  const owner = currentLeaseOwner();
  return await openLocalPublisher(settings, { clock, sleep, newId: () => newId(clock()), owner, random: Math.random });
}
