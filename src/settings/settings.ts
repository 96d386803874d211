/**
 * The table of settings: every name, its default, how its value is read, and what it means. docs/reference/settings.md
 * lists the same (a test compares them); `Settings` is the table's values, typed.
 */
import { DAY_MILLIS, LEASE_MILLIS_MAX } from '../domain/instant.ts';
import { ENGINE_SETTINGS } from './engine-settings.ts';
import { catalogLocation, storeLocation } from './location.ts';
import type { Share } from './memory.ts';
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
  keyText,
  oneOf,
  optional,
  PATH_LENGTH_MAX,
  plainName,
  serviceUrl,
  size,
  text,
} from './setting-value.ts';
import { WORK_SETTINGS } from './work-settings.ts';

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
  replicaName: setting('QRS_REPLICA_NAME', '', optional(plainName()), {
    about:
      'What this process is called among those that share its catalog: in its log, in `qrs doctor`, and as a number at the beginning of its request ids. Empty: the name of the host with some letters that differ at each start.',
  }),
  publicUrl: setting('QRS_PUBLIC_URL', '', optional(serviceUrl()), {
    about:
      'Scheme and host under which clients reach the service; `next_uri` begins with it. Empty: as each client addressed the service.',
    secret: 'password',
  }),
  publicKey: setting('QRS_PUBLIC_KEY', '', optional(keyText(512)), {
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
      'Where results are: `file:` is `results` in the data directory, `file:/path/to/folder` elsewhere, `s3://bucket/prefix` in S3, with `?endpoint=https://host:port` in another server that speaks its protocol. Credentials, and the region unless `region=name` beside it gives one, are found as the AWS SDK does, such as in `AWS_REGION`.',
    secret: 'password',
  }),
  storeCacheBytesMax: setting('QRS_STORE_CACHE', '10GB', size(SIZE_MIN, '64MB'), {
    about:
      'The most disk for what was fetched from a store in S3, beside what is being read: the pieces of results that pages needed. Each process has a cache of its own; workers divide this between them.',
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
  webhooksPrivate: setting('QRS_WEBHOOKS_PRIVATE', 'false', boolean(), {
    about:
      'Whether webhooks may have addresses that are not public: of this machine, of private networks, of one link. Without it whoever has a key of scope `write` could have the service send requests to what only it can reach.',
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
    about:
      'How many days a result is kept after its execution ended. What is stored already keeps the end that it has. Fractions are allowed.',
  }),
  partialAsCompleted: setting('QRS_PARTIAL_AS_COMPLETED', 'false', boolean(), {
    about:
      'Give truncated results to every client, as COMPLETED and without `allow_partial_results`: for clients that know neither that parameter nor COMPLETED_PARTIAL. Nothing in such an answer says that rows are missing.',
  }),
  ...WORK_SETTINGS,
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
    secret: 'password',
    of: 'client',
  }),
  clientKey: setting('QRS_KEY', '', optional(keyText(1000)), {
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
