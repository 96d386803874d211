/** Settings of what reading, publishing and uploading may take: memory, threads, disk, and how much of each at a time. A part of `SETTINGS`. */
import { DAY_MILLIS } from '../domain/instant.ts';
import { disk } from './disk.ts';
import { machineShare, memoryShare } from './memory.ts';
import { setting } from './setting.ts';
import { duration, either, integer, oneOf, size } from './setting-value.ts';

const SIZE_MIN = 64_000_000;

export const WORK_SETTINGS = {
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
      'The most disk for all results together that are being sent over HTTP, until they are stored: as they come, decompressed and converted. A size, or a share of what is free when one begins. Beyond that the answer is 503 at once, or 413 where one alone takes more: than the size, or than that share of the whole disk.',
  }),
  uploadStalledMillis: setting('QRS_UPLOAD_STALLED', '60', duration(100, DAY_MILLIS), {
    about:
      'How long nothing may come of the body of a request; then the answer is 408, and nothing has changed. Of a body of JSON, not longer than `QRS_HEADERS_TIMEOUT`.',
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
      'Results and views of at least so many rows get row files when they are read for the second time or exported: their rows as compressed JSON. A process of lowest priority builds them in the background and takes up to 300 MB. `off`: none get row files, and nothing is read ahead of walks.',
  }),
  indexUses: setting('QRS_INDEX_USES', '2', either(oneOf('off'), integer(1, 1_000_000)), {
    about:
      'At which use by a filter or sort a column of a result gets an index: a file with its values in order. Pages further on in a walk are no use of their own: they are read from a view. The process that builds row files builds it in the background, and takes up to 500 MB then. `off`: none gets an index, and all rows are searched each time.',
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
      'The most memory for the caches: finished answers, plain and compressed, what walks will ask for next, and what the service has looked up for them.',
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
} as const;
