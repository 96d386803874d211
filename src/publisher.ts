/**
 * Publishing from a program: what `import { openPublisher } from 'query-results-service'` gives. The same settings, data
 * directory and guarantees as `qrs publish`; a running service shows the result with its next request.
 */
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonicFactory } from 'ulid';
import { publisherOf } from './compose/publishing.ts';
import { openService } from './compose/service.ts';
import { parseColumnType } from './domain/column-type.ts';
import type { Execution } from './domain/execution.ts';
import type { Sleep } from './domain/time.ts';
import { readFileIfThere } from './files/read-if-there.ts';
import { currentLeaseOwner } from './leases/lease-owner.ts';
import { type Progress, publish } from './publishing/publish.ts';
import { loadSettings } from './settings/load-settings.ts';
import { machineMemory } from './settings/machine-memory.ts';

export type { Execution, ExecutionState } from './domain/execution.ts';
export { PublishError } from './publishing/publish-error.ts';
export type { Progress };

export interface Publication {
  /** The query that this is a run of; it must have been added (`qrs queries add`). */
  readonly queryId: number;
  readonly source:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'stream'; readonly stream: Readable };
  /** By the file's name or first bytes when left out. */
  readonly format?: 'parquet' | 'csv' | 'ndjson';
  /** What separates the fields of a CSV file; a comma, a semicolon or a tab, as the header has it, when left out. */
  readonly delimiter?: string;
  /** Of text; UTF-8 when left out. Compressed files (gzip, zstd) are known by their first bytes. */
  readonly encoding?: 'utf-8' | 'utf-16' | 'utf-16le' | 'utf-16be' | 'latin-1' | 'windows-1252';
  /** Column to type name, for what the file cannot say: `{ amount: 'uint256' }`. */
  readonly types?: Readonly<Record<string, string>>;
  /** Named query parameters of the run. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Completes this run, begun before; a new one when left out. */
  readonly executionId?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Publisher extends AsyncDisposable {
  /**
   * @returns the finished execution, whose result is stored and visible
   * @throws PublishError when the input is not what it should be; ColumnTypeError for a type that is none. Nothing has changed then.
   */
  publish(publication: Publication): Promise<Execution>;
}

/**
 * Settings come from `environment` and, as for the command, from the file that its `QRS_CONFIG_FILE` names, or `qrs.env` in the
 * working directory; the environment wins.
 * @param environment settings by name, such as `{ QRS_DATA_DIR: './data' }`; hand in `process.env` for the process's own
 * @throws SettingsError for a setting that is unknown or wrong
 */
export async function openPublisher(environment: Readonly<Record<string, string | undefined>>): Promise<Publisher> {
  const clock = Date.now;
  const sleep: Sleep = (millis, signal) => wait(millis, undefined, { signal });
  const { settings } = loadSettings({ environment, readFile: readFileIfThere, machineBytes: machineMemory() });
  const service = await openService(settings, { clock, sleep });
  const newId = monotonicFactory();
  return {
    async publish({ types, signal, onProgress, ...request }) {
      const { dependencies, options } = await publisherOf(service, {
        newId: () => newId(clock()),
        owner: currentLeaseOwner(),
        random: Math.random,
      });
      const parsed = Object.entries(types ?? {}).map(([name, type]) => [name, parseColumnType(type)] as const);
      const never = new AbortController().signal;
      return await publish(dependencies, { ...request, types: new Map(parsed) }, options, signal ?? never, onProgress);
    },
    [Symbol.asyncDispose]: async () => await service[Symbol.asyncDispose](),
  };
}
