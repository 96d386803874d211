/** How the disk for what does not fit into memory is divided. */
import type { Settings } from '../settings/settings.ts';

/** Instances that may spill: ranges of rows, searches, views, publishing, scheduled queries. */
const DUCKDB_INSTANCES = 5;

/** How many bytes each DuckDB may spill to disk. */
export function tempBytesOfEach(settings: Settings): number {
  return Math.floor(settings.tempBytesMax / DUCKDB_INSTANCES);
}
