/**
 * The table of settings: every name, its default, how its value is read, and what it means. docs/reference/settings.md
 * lists the same (a test compares them); `Settings` is the table's values, typed.
 */
import { DAY_MILLIS, LEASE_MILLIS_MAX } from '../domain/instant.ts';
import { disk } from './disk.ts';
import { ENGINE_SETTINGS } from './engine-settings.ts';
import { catalogLocation, storeLocation } from './location.ts';
import { machineShare, memoryShare, type Share } from './memory.ts';
import { trustedProxies, webOrigins } from './network-value.ts';
import { type Setting, setting } from './setting.ts';
import {
  boolean,
  cronExpression,
  decimal,
  duration,
  either,
  headerNames,
  httpUrl,
  integer,
  oneOf,
  optional,
  size,
  text,
} from './setting-value.ts';

const PATH_LENGTH_MAX = 4096;
const SIZE_MIN = 64_000_000;

export const SETTINGS = {
  configFile: setting('QRS_CONFIG_FILE', '', optional(text(PATH_LENGTH_MAX)), {
    about:
      'A file of NAME=VALUE lines with settings; the environment wins over it. Without this setting, `qrs.env` in the working directory is read if it exists.',
  }),
  host: setting('QRS_HOST', '127.0.0.1', text(255), {
    about: 'The address to listen on: `0.0.0.0` for every interface.',
  }),
  port: setting('QRS_PORT', '8080', integer(0, 65_535), {
    about: 'The port to listen on; 0 takes any free port.',
  }),
  workers: setting('QRS_WORKERS', '1', either(oneOf('auto'), integer(1, 256)), {
    about:
      'How many processes `qrs serve` runs on its address; `auto`: one for each core. Limits of memory, disk and connections are divided between them. One of them runs the schedule.',
  }),
  publicUrl: setting('QRS_PUBLIC_URL', '', optional(httpUrl()), {
    about:
      'Scheme and host under which clients reach the service; `next_uri` begins with it. Empty: as each client addressed the service.',
  }),
  publicKey: setting('QRS_PUBLIC_KEY', '', optional(text(512)), {
    about: 'What visitors of the explorer read with who have no key. They can see it: make it of scope `read`.',
  }),
  dataDir: setting('QRS_DATA_DIR', './data', text(PATH_LENGTH_MAX), {
    about: 'The folder for everything the service keeps.',
  }),
  catalog: setting('QRS_CATALOG_URL', 'sqlite:', catalogLocation, {
    about:
      'Where the catalog is: `sqlite:` is `catalog.sqlite` in the data directory, `sqlite:/path/to/file` elsewhere, `postgres://user:password@host/database` in PostgreSQL, for processes on several machines.',
    secret: 'password',
  }),
  catalogConnectionsMax: setting('QRS_CATALOG_CONNECTIONS', '8', integer(1, 1000), {
    about: 'How many connections each process keeps to a catalog in PostgreSQL at most, besides one that listens.',
  }),
  catalogStalenessMillis: setting('QRS_CATALOG_STALENESS', '1', duration(0.001, 60_000), {
    about:
      'With a catalog in PostgreSQL: the longest that a process may go on answering from memory after another one has changed access, runs or results, and that it goes on without the database. Usually it learns of a change within milliseconds.',
  }),
  store: setting('QRS_STORE_URL', 'file:', storeLocation, {
    about:
      'Where results are: `file:` is `results` in the data directory, `file:/path/to/folder` elsewhere, `s3://bucket/prefix` in S3, with `?endpoint=https://host:port` in another server that speaks its protocol. Credentials are found as the AWS SDK does.',
    secret: 'password',
  }),
  storeCacheBytesMax: setting('QRS_STORE_CACHE', '10GB', size(SIZE_MIN, '64MB'), {
    about:
      'The most disk for what was fetched from a store in S3, beside what is being read: the pieces of results that pages needed.',
  }),
  ...ENGINE_SETTINGS,
  runQueries: setting('QRS_RUN_QUERIES', 'true', boolean(), {
    about:
      'Whether `qrs serve` also runs the queries that are waiting to be run, and so the refreshes of the curated datasets. Any number of processes may; each run is run by one of them.',
  }),
  runsMax: setting('QRS_RUNS', '2', integer(1, 64), {
    about: 'How many queries one process runs at a time. They share `QRS_ENGINE_MEMORY`.',
  }),
  runsPerKeyMax: setting('QRS_RUNS_PER_KEY', '1', integer(1, 10_000), {
    about: 'How many queries of one key run at a time, in all processes together; the others of that key wait.',
  }),
  runsWaitingMax: setting('QRS_RUNS_WAITING', '1000', integer(0, 1_000_000), {
    about: 'How many runs may wait in all; beyond that the answer is 503 at once.',
  }),
  runsWaitingPerKeyMax: setting('QRS_RUNS_WAITING_PER_KEY', '100', integer(0, 1_000_000), {
    about: 'How many runs of one key may wait; beyond that the answer is 429 at once.',
  }),
  coalesceRuns: setting('QRS_COALESCE_RUNS', 'false', boolean(), {
    about:
      'Whether a query is run only once at a time with the same parameters: whoever asks for a run that waits or runs already gets that one.',
  }),
  sqlExecute: setting('QRS_SQL_EXECUTE', 'false', boolean(), {
    about: 'Whether keys of scope `write` may run SQL of their own with `POST /v1/sql/execute`, without a query.',
  }),
  schedule: setting('QRS_SCHEDULE', 'true', boolean(), {
    about:
      'Whether `qrs serve` also runs the schedule: it asks for the runs of scheduled queries and curated datasets when they are due, and sweeps. Any number of processes may run it; each tick is run by one of them.',
  }),
  sweepSchedule: setting('QRS_SWEEP_SCHEDULE', '5,35 * * * *', cronExpression(), {
    about: 'When the schedule runs the sweep, which deletes what has expired: a cron expression in UTC.',
  }),
  sweepShare: setting('QRS_SWEEP_SHARE', '0.1', decimal(1), {
    about:
      'The largest share of all stored objects that one sweep deletes as leftovers, beside expired results; up to 100 objects are always deleted. If more look like leftovers, the sweep stops and says so; `qrs sweep --yes` deletes them.',
  }),
  datasetsDir: setting('QRS_DATASETS_DIR', '', optional(text(PATH_LENGTH_MAX)), {
    about:
      'A folder of further curated datasets: each a folder with `dataset.json` and `query.sql`. They are checked at the start.',
  }),
  datasetsKeep: setting('QRS_DATASETS_KEEP', '96', integer(1, 100_000), {
    about: 'How many of its latest results a curated dataset keeps, unless its declaration gives another number.',
  }),
  strategyColumnNames: setting('QRS_STRATEGY_COLUMNS', 'number', oneOf('number', 'token'), {
    about:
      'How the curated datasets name the twelve liquid-staking strategies: `number` (`strategy_01_TVL` …) or `token` (`cbETH_TVL` …).',
  }),
  keyHeaders: setting('QRS_KEY_HEADERS', 'X-Dune-Api-Key', headerNames(), {
    about: 'Headers that may carry the API key, beside `X-Service-Api-Key`, separated by commas.',
  }),
  compatHeaderPrefixes: setting('QRS_COMPAT_HEADER_PREFIXES', 'X-Dune', headerNames(), {
    about: 'Prefixes under which the service’s own headers are sent, beside `X-Service`, separated by commas.',
  }),
  datapointsMax: setting('QRS_MAX_DATAPOINTS', '250000', integer(1, Number.MAX_SAFE_INTEGER), {
    about: 'The most datapoints of one answer, unless the caller lifts the limit.',
  }),
  resultBytesMax: setting('QRS_MAX_RESULT_BYTES', '8GB', size(1, '1 byte'), {
    about: 'The most cell bytes of one stored result; a larger result is truncated at a row.',
  }),
  retentionDays: setting('QRS_RETENTION_DAYS', '90', decimal(36_500), {
    about: 'How many days a result is kept after its execution ended. Fractions are allowed.',
  }),
  partialAsCompleted: setting('QRS_PARTIAL_AS_COMPLETED', 'false', boolean(), {
    about:
      'Give truncated results to every client, as COMPLETED and without `allow_partial_results`: for clients that know neither that parameter nor COMPLETED_PARTIAL. Nothing in such an answer says that rows are missing.',
  }),
  memoryBytes: setting('QRS_MEMORY', 'auto', machineShare(), {
    about:
      'The most memory that the process aims to take; the other settings of memory are shares of it, or sizes. `auto`: 60 % of the machine, or of its cgroup if that has less, and at most 4 GB.',
  }),
  readTimeoutMillis: setting('QRS_READ_TIMEOUT', '60', duration(1, DAY_MILLIS), {
    about: 'The longest that one read may take.',
  }),
  readMemoryBytes: setting('QRS_READ_MEMORY', '30%', memoryShare(SIZE_MIN, '64MB'), {
    about: 'The most memory that DuckDB takes to answer requests: a quarter for ranges of rows, the rest for searches.',
  }),
  readThreads: setting('QRS_READ_THREADS', 'cores', either(oneOf('cores'), integer(1, 256)), {
    about:
      'How many threads DuckDB takes to filter, sort and draw samples: a number, or `cores` for as many as there are.',
  }),
  heavyMemoryBytes: setting('QRS_HEAVY_MEMORY', '12%', memoryShare(SIZE_MIN, '64MB'), {
    about: 'The most memory that DuckDB takes to materialise views and to write Parquet answers.',
  }),
  publishMemoryBytes: setting('QRS_PUBLISH_MEMORY', '26%', memoryShare(SIZE_MIN, '64MB'), {
    about: 'The most memory that DuckDB takes to publish one result; what does not fit goes to disk.',
  }),
  uploadBytesMax: setting('QRS_UPLOAD_MAX', '64GB', size(1, '1 byte'), {
    about:
      'The most bytes of one result that is sent over HTTP, as it comes and decompressed. What is stored of it is bounded by `QRS_MAX_RESULT_BYTES`.',
  }),
  uploadDisk: setting('QRS_UPLOAD_DISK', '50%', disk(1, '1 byte'), {
    about:
      'The most disk for all results together that are being sent over HTTP, until they are stored: as they come, decompressed and converted. A size, or a share of what is free when one begins. Beyond that the answer is 503 at once, or 413 where one alone takes more.',
  }),
  uploadStalledMillis: setting('QRS_UPLOAD_STALLED', '60', duration(100, DAY_MILLIS), {
    about: 'How long nothing may come of the body of a request; then the answer is 408, and nothing has changed.',
  }),
  uploadsMax: setting('QRS_UPLOADS_MAX', '64', integer(1, 10_000), {
    about: 'How many results may be sent over HTTP at the same time; beyond that the answer is 503 at once.',
  }),
  uploadsPerKeyMax: setting('QRS_UPLOADS_PER_KEY', '16', integer(1, 10_000), {
    about: 'How many of them one key may send; beyond that the answer is 429 at once.',
  }),
  uploadsRunningMax: setting('QRS_UPLOADS_RUNNING', '1', integer(1, 64), {
    about:
      'How many results that have arrived are converted and stored at the same time; keys take turns. Each takes `QRS_PUBLISH_MEMORY`.',
  }),
  heavyThreads: setting('QRS_HEAVY_THREADS', '2', integer(1, 256), {
    about: 'How many threads DuckDB takes to materialise a view or write a Parquet answer.',
  }),
  tempBytesMax: setting('QRS_TEMP_MAX', '50GB', size(0, '0'), {
    about:
      'The most disk that DuckDB takes for what does not fit in memory: a fifth each for ranges of rows, searches, views, publishing, and scheduled queries.',
  }),
  viewBytesMax: setting('QRS_VIEW_CACHE', '20GB', size(0, '0'), {
    about:
      'The most disk for what is made from results to read them faster: materialised views, from which walks with `filters` or `sort_by` are read, row files, indexes and Parquet answers that have been sent. The least recently used is deleted first.',
  }),
  rowFiles: setting('QRS_ROW_FILES', '10000', either(oneOf('off'), integer(0, Number.MAX_SAFE_INTEGER)), {
    about:
      'Results and views of at least so many rows get row files when they are read for the second time or exported: their rows as compressed JSON. A process of lowest priority builds them in the background and takes up to 300 MB. `off`: none get row files.',
  }),
  indexUses: setting('QRS_INDEX_USES', '2', either(oneOf('off'), integer(1, 1_000_000)), {
    about:
      'At which use by a filter or sort a column of a result gets an index: a file with its values in order. The process that builds row files builds it in the background, and takes up to 500 MB then. `off`: none gets an index, and all rows are searched each time.',
  }),
  indexRowsMin: setting('QRS_INDEX_ROWS', '32768', integer(0, Number.MAX_SAFE_INTEGER), {
    about: 'Results of fewer rows get no indexes: searching all their rows is as fast.',
  }),
  viewsMax: setting('QRS_VIEWS_MAX', '1000', integer(1, 1_000_000), {
    about:
      'The most materialised views, and the most Parquet answers, however small. The least recently used is deleted first.',
  }),
  directRowsMax: setting('QRS_DIRECT_ROWS', '131072', integer(0, 10_000_000), {
    about:
      'A result of at most so many rows is filtered and sorted again for each page; a walk over a longer one materialises its view first.',
  }),
  viewTimeoutMillis: setting('QRS_VIEW_TIMEOUT', '600', duration(1, DAY_MILLIS), {
    about: 'The longest that materialising a view may take.',
  }),
  parquetBytesMax: setting('QRS_PARQUET_DISK', '20GB', size(0, '0'), {
    about:
      'The most disk for Parquet answers that are being written or sent. Beyond that the answer is 503 at once. One answer is always let in.',
  }),
  heavyRunningMax: setting('QRS_HEAVY_RUNNING', '1', integer(1, 64), {
    about: 'How many heavy tasks (materialising a view, writing a Parquet answer) run at a time.',
  }),
  heavyWaitingMax: setting('QRS_HEAVY_WAITING', '64', integer(0, 10_000), {
    about:
      'How many heavy tasks may wait; keys take turns. Beyond that, the key with the most waiting tasks gets 503 at once.',
  }),
  pageCacheBytes: setting('QRS_PAGE_CACHE', '10%', memoryShare(0, '0'), {
    about:
      'The most memory for the caches: finished answers, plain and compressed, and what the service has looked up for them.',
  }),
  exportsRunningMax: setting('QRS_EXPORTS_RUNNING', '2', integer(1, 64), {
    about:
      'How many ranges of exports (answers of more than about 30,000 rows) are read at the same time; exports take turns.',
  }),
  pagesWaitingMax: setting('QRS_PAGES_WAITING', '1000', integer(0, 1_000_000), {
    about:
      'How many pages may wait to be read, and how many searches (first pages with `filters` or `sort_by`, samples); keys take turns. Beyond that, the key with the most waiting reads gets 503 at once.',
  }),
  heavyReadsMax: setting('QRS_HEAVY_READS', '64', integer(1, 10_000), {
    about:
      'How many exports and large sorted or filtered reads may be in flight in all. As many again may wait for a place; keys take turns.',
  }),
  heavyReadsPerKeyMax: setting('QRS_HEAVY_READS_PER_KEY', '8', integer(1, 10_000), {
    about: 'How many of them one key may have in flight or waiting; beyond that the answer is 429 at once.',
  }),
  heavyReadsWaitMillis: setting('QRS_HEAVY_READS_WAIT', '20', duration(1, DAY_MILLIS), {
    about: 'The longest that such a read waits for a place; then the answer is 503.',
  }),
  filterLengthMax: setting('QRS_FILTER_LENGTH_MAX', '20000', integer(1, 1_000_000), {
    about: 'The longest filter or sort expression, in characters.',
  }),
  filterTermsMax: setting('QRS_FILTER_TERMS_MAX', '1000', integer(1, 100_000), {
    about: 'The most comparisons in a filter expression.',
  }),
  filterDepthMax: setting('QRS_FILTER_DEPTH_MAX', '50', integer(1, 500), {
    about: 'How deep a filter expression may be nested.',
  }),
  filterInMax: setting('QRS_FILTER_IN_MAX', '1000', integer(1, 100_000), {
    about: 'The most values in one `in (…)` of a filter expression.',
  }),
  sortKeysMax: setting('QRS_SORT_KEYS_MAX', '16', integer(1, 1000), {
    about: 'The most columns in a sort expression.',
  }),
  leaseMillis: setting('QRS_LEASE_SECONDS', '30', duration(1000, LEASE_MILLIS_MAX), {
    about: 'The length of a lease: how long other processes wait until they take over the work of a process that died.',
  }),
  rateLimit: setting('QRS_RATE_LIMIT', 'off', either(oneOf('off'), decimal(1_000_000)), {
    about: 'How many requests a second one key may make in the long run, or `off`; beyond that the answer is 429.',
  }),
  rateBurst: setting('QRS_RATE_BURST', '100', integer(1, 1_000_000), {
    about: 'How many requests one key may make at once before `QRS_RATE_LIMIT` applies.',
  }),
  authFailuresPerMinute: setting('QRS_FAILED_KEYS_PER_MINUTE', '60', integer(0, 1_000_000), {
    about:
      'How many wrong keys a minute one address may send; beyond that its wrong keys get 429 instead of 401. A right key is always let in. 0: no limit.',
  }),
  usageIntervalMillis: setting('QRS_USAGE_INTERVAL', '5', duration(100, 3_600_000), {
    about: 'How often usage is written to the catalog. A crash loses the usage of at most this time.',
  }),
  shutdownGraceMillis: setting('QRS_SHUTDOWN_GRACE', '30', duration(0, 3_600_000), {
    about: 'How long requests in flight may go on after the service is asked to stop; then their connections are cut.',
  }),
  trustProxy: setting('QRS_TRUST_PROXY', 'false', trustedProxies, {
    about:
      'Whose `X-Forwarded-For`, `-Proto` and `-Host` headers to believe. `false`: nobody’s. A number: so many proxies in front of the service. Addresses and networks (`10.0.0.0/8`, `loopback`), separated by commas: those proxies. `true`: everybody’s.',
  }),
  corsOrigins: setting('QRS_CORS_ORIGINS', '', webOrigins, {
    about: 'Pages of these origins may read answers (CORS), separated by commas; `*` for every origin. Empty: none.',
  }),
  connectionsMax: setting('QRS_CONNECTIONS_MAX', '10000', integer(1, 1_000_000), {
    about:
      'How many connections may be open; further connections are closed at once. It is never more than half of the files that the process may open (`ulimit -n`).',
  }),
  headerBytesMax: setting('QRS_HEADER_BYTES_MAX', '128KiB', size(8192, '8KiB'), {
    about:
      'The most bytes in the head of a request: its address, which holds the filters, and its headers. A longer head is answered 431.',
  }),
  headersTimeoutMillis: setting('QRS_HEADERS_TIMEOUT', '20', duration(100, 600_000), {
    about: 'How long a client may take to send the head of a request; then the answer is 408.',
  }),
  idleTimeoutMillis: setting('QRS_IDLE_TIMEOUT', '72', duration(1000, 3_600_000), {
    about:
      'How long a connection is kept open between two requests. Make it longer than the proxy in front keeps its connections.',
  }),
  stalledTimeoutMillis: setting('QRS_STALLED_TIMEOUT', '15m', duration(1000, DAY_MILLIS), {
    about:
      'A connection on which nothing moves for this time is aborted. Make it longer than the longest read (`QRS_VIEW_TIMEOUT`).',
  }),
  logLevel: setting('QRS_LOG_LEVEL', 'info', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), {
    about:
      'The least important level of log lines to write: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  }),
  clientUrl: setting('QRS_URL', '', optional(httpUrl()), {
    about: 'The service that `qrs rows` and `qrs open` ask. Empty: the one of these settings.',
    of: 'client',
  }),
  clientKey: setting('QRS_KEY', '', optional(text(1000)), {
    about: 'The key with which they ask it.',
    secret: 'whole',
    of: 'client',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

/** The value of every setting. Units stand last in the names: bytes, millis, days. */
export type Settings = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key] extends Setting<infer T> ? Resolved<T> : never;
};

/** A share of memory becomes bytes. */
type Resolved<T> = T extends Share ? number : T;
