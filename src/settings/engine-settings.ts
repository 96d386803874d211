/** The settings of what runs the SQL of queries: a part of the table of settings (settings.ts). */
import { DAY_MILLIS } from '../domain/instant.ts';
import { engineLocation } from './location.ts';
import { ENGINE_BYTES_MIN, memoryShare } from './memory.ts';
import { setting } from './setting.ts';
import { duration, integer, optional, PATH_LENGTH_MAX, size, text } from './setting-value.ts';

const TOKEN_LENGTH_MAX = 8192;
const SIZE_MIN = 64_000_000;

export const ENGINE_SETTINGS = {
  engine: setting('QRS_ENGINE_URL', 'duckdb:', engineLocation, {
    about:
      'What runs the SQL of queries: `duckdb:` here, over the folder of source tables, or `trino://user@host:port/catalog/schema` on a Trino. With a password in it, on port 443 or with `?tls=true` the connection is TLS.',
    secret: 'password',
  }),
  sourcesDir: setting('QRS_SOURCES_DIR', '', optional(text(PATH_LENGTH_MAX)), {
    about: 'The folder of the tables that queries read in DuckDB. Empty: `sources` in the data directory.',
  }),
  engineMemoryBytes: setting('QRS_ENGINE_MEMORY', '10%', memoryShare(SIZE_MIN, '64MB', ENGINE_BYTES_MIN), {
    about:
      'The most memory that DuckDB takes for queries, or to store the rows that Trino gives; what does not fit goes to disk. Each running query gets an equal share (`QRS_RUNS`), but at least 160 MB, which the curated datasets need. Given as a share of `QRS_MEMORY`, it is at least 160 MB.',
  }),
  engineThreads: setting('QRS_ENGINE_THREADS', '1', integer(1, 256), {
    about: 'How many threads DuckDB takes for a query; requests keep the other cores.',
  }),
  engineResultBytesMax: setting('QRS_ENGINE_RESULT_MAX', '20GB', size(1_000_000, '1MB'), {
    about:
      'The most disk that the rows of one query may take before they are stored; a query whose rows take more fails. The rows that Trino gives may take as much again while they become Parquet. What is stored of them is bounded by `QRS_MAX_RESULT_BYTES`.',
  }),
  engineTimeoutMillis: setting('QRS_ENGINE_TIMEOUT', '600', duration(1, DAY_MILLIS), {
    about: 'The longest that a query may take.',
  }),
  trinoToken: setting('QRS_TRINO_TOKEN', '', optional(text(TOKEN_LENGTH_MAX)), {
    about: 'A JSON Web Token for Trino, in place of a password; it is sent over TLS only.',
    secret: 'whole',
  }),
  trinoCaFile: setting('QRS_TRINO_CA_FILE', '', optional(text(PATH_LENGTH_MAX)), {
    about:
      'A file of certificates (PEM) to believe in when Trino is reached over TLS, beside the usual ones: for one that signs its own.',
  }),
  trinoMemoryBytes: setting('QRS_TRINO_MEMORY', '', optional(size(1_000_000, '1MB')), {
    about:
      'The most memory that one query may take in Trino, on all its machines together (`query_max_memory`). Empty: as Trino is configured.',
  }),
} as const;
