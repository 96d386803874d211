/** What the settings allow the service, divided between the processes that make it up. */
import { diskOfEach } from './disk.ts';
import { SettingsError } from './load-settings.ts';
import type { Settings } from './settings.ts';

/** Of these each worker gets its part. */
const DIVIDED = [
  'memoryBytes',
  'readMemoryBytes',
  'heavyMemoryBytes',
  'publishMemoryBytes',
  'pageCacheBytes',
  'tempBytesMax',
  'viewBytesMax',
  'storeCacheBytesMax',
  'viewsMax',
  'parquetBytesMax',
  'uploadsMax',
  'pagesWaitingMax',
  'heavyReadsMax',
  'connectionsMax',
  'authFailuresPerMinute',
] as const satisfies readonly (keyof Settings)[];

/** DuckDB and Node.js take this much before the first request. */
const WORKER_BYTES_MIN = 256_000_000;

/** @throws SettingsError when a part of the memory would be too small to work with */
export function divideSettings(settings: Settings, workers: number): Settings {
  const memoryBytes = Math.floor(settings.memoryBytes / workers);
  if (workers > 1 && memoryBytes < WORKER_BYTES_MIN) {
    throw new SettingsError(
      `QRS_MEMORY is ${settings.memoryBytes / 1e6} MB, which leaves each of ${workers} workers ${memoryBytes / 1e6} MB; ` +
        `each needs ${WORKER_BYTES_MIN / 1e6} MB: give more memory, or fewer workers`,
    );
  }
  // A limit of zero means that there is none, or nothing.
  const part = (value: number) => (value === 0 ? 0 : Math.max(1, Math.floor(value / workers)));
  return {
    ...settings,
    ...Object.fromEntries(DIVIDED.map((name) => [name, part(settings[name])])),
    uploadDisk: diskOfEach(settings.uploadDisk, workers),
  };
}
