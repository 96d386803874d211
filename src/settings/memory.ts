/**
 * Memory: one setting is the most that the process aims to take, and what takes memory inside has shares of it. What the shares
 * leave is for the process itself: its code, JavaScript's heap, answers on their way out.
 */
import { BadValue, type ReadValue, size } from './setting-value.ts';

/** A part of something that is known only when all settings have been read. */
export interface Share {
  readonly kind: 'share';
  readonly of: 'machine' | 'memory';
  readonly percent: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
}

/** The settings that are memory, as `Settings` has them. */
export interface MemorySettings {
  readonly memoryBytes: number;
  readonly readMemoryBytes: number;
  readonly heavyMemoryBytes: number;
  readonly publishMemoryBytes: number;
  readonly engineMemoryBytes: number;
  readonly pageCacheBytes: number;
}

export interface MemorySum {
  readonly memoryBytes: number;
  /** What each setting takes, by what it is for. */
  readonly parts: readonly { readonly name: string; readonly bytes: number }[];
  /** What is left to the process itself; negative where the settings take more than there is. */
  readonly restBytes: number;
}

/** Node.js and DuckDB's code take about 130 MB before the first request. */
export const REST_BYTES_MIN = 150_000_000;

const MACHINE_PERCENT = 60;
const MACHINE_BYTES_MAX = 4_000_000_000;
const MEMORY_BYTES_MIN = 512_000_000;

/** With 100 MB the curated dataset `points` is not made even of the smallest sources: its query joins some twenty tables. */
export const ENGINE_BYTES_MIN = 160_000_000;

/** What one of the queries may take that run at a time. */
export function engineMemoryOfEach(engineMemoryBytes: number, runsMax: number): number {
  return Math.max(Math.floor(engineMemoryBytes / runsMax), Math.min(engineMemoryBytes, ENGINE_BYTES_MIN));
}

/** `auto`, which is 60 % of the machine and at most 4 GB, or a size. */
export function machineShare(): ReadValue<number | Share> {
  const readSize = size(MEMORY_BYTES_MIN, '512MB');
  const auto: Share = {
    kind: 'share',
    of: 'machine',
    percent: MACHINE_PERCENT,
    bytesMin: MEMORY_BYTES_MIN,
    bytesMax: MACHINE_BYTES_MAX,
  };
  return (text) => (text.toLowerCase() === 'auto' ? auto : readSize(text));
}

/** `12%` of the memory of the process, or a size. @param shareMin a share is no less, a size may be */
export function memoryShare(bytesMin: number, minText: string, shareMin = bytesMin): ReadValue<number | Share> {
  const readSize = size(bytesMin, minText);
  return (text) => {
    const percent = Number(/^(\d{1,3}(?:\.\d{1,3})?) *%$/.exec(text)?.[1] ?? Number.NaN);
    if (Number.isNaN(percent)) return readSize(text);
    if (percent > 100) throw new BadValue('expected a size, or at most 100% of QRS_MEMORY');
    return { kind: 'share', of: 'memory', percent, bytesMin: shareMin, bytesMax: Number.MAX_SAFE_INTEGER };
  };
}

export function isShare(value: unknown): value is Share {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'share';
}

/** @param wholeBytes what it is a share of */
export function bytesOf(share: Share, wholeBytes: number): number {
  const bytes = Math.floor((wholeBytes * share.percent) / 100);
  return Math.max(share.bytesMin, Math.min(share.bytesMax, bytes));
}

export function memorySum(settings: MemorySettings): MemorySum {
  const { memoryBytes } = settings;
  const parts = [
    { name: 'reading', bytes: settings.readMemoryBytes },
    { name: 'views and Parquet answers', bytes: settings.heavyMemoryBytes },
    { name: 'publishing', bytes: settings.publishMemoryBytes },
    { name: 'scheduled queries', bytes: settings.engineMemoryBytes },
    { name: 'finished answers', bytes: settings.pageCacheBytes },
  ];
  return { memoryBytes, parts, restBytes: memoryBytes - parts.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Two of the largest finished answers. */
const UNSENT_BYTES_MIN = 64_000_000;

/** What may wait for slow clients, of what the shares leave. */
export function unsentBytesMax(settings: MemorySettings): number {
  return Math.max(UNSENT_BYTES_MIN, memorySum(settings).restBytes - REST_BYTES_MIN);
}

/** The sum in one line: `reading 1200 MB + … + the process itself 480 MB = 4000 MB`. */
export function formatMemorySum({ memoryBytes, parts, restBytes }: MemorySum): string {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`;
  const terms = parts.map(({ name, bytes }) => `${name} ${megabytes(bytes)}`);
  return `${terms.join(' + ')} + the process itself ${megabytes(restBytes)} = ${megabytes(memoryBytes)}`;
}
