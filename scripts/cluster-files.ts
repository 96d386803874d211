/**
 * Which files of test/feature run over PostgreSQL and S3, too (`scripts/test-cluster.ts`): all of them, but for those that are named here with
 * their reason. A new file is in.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

export const FEATURE_TESTS = join(import.meta.dirname, '..', 'test', 'feature');
const SUFFIX = '.test.ts';

export interface LeftOut {
  readonly reason: string;
  /** Without folder and suffix. */
  readonly files: readonly string[];
}

/** They never run over other servers than they do already. */
export const LEFT_OUT: readonly LeftOut[] = [
  {
    reason: 'opens neither a catalog nor a store: it would be the same test again',
    files: [
      'cluster-front',
      'compose-cluster-file',
      'compose-file',
      'dataset-guide',
      'dataset-invariants',
      'dataset-points',
      'dataset-restaking',
      'dataset-sql-dialect',
      'encoding',
      'engine-words',
      'filters-reference',
      'hostile-sql',
      'many-columns.property',
      'pruning.property',
      'readings.property',
      'reference',
      'row-file-faults',
      'row-files.property',
      'sql-parameters.property',
      'trino-access',
      'trino-datasets',
      'trino-restart',
      'trino-running',
      'trino-types',
      'trino-values',
      'views.property',
    ],
  },
  {
    reason: 'starts a PostgreSQL or an S3 server of its own in any case',
    files: [
      'copy-catalog',
      'releases-side-by-side',
      'replicas',
      'replicas-bounds',
      'store-copy',
      'store-s3',
      'store-s3-exports',
      'store-s3-many',
    ],
  },
  {
    reason: 'is about the file of a catalog in SQLite, or about folders of the local disk',
    files: [
      'command-doctor',
      'damaged-parts',
      'etags.property',
      'foreign-files.property',
      'full-disk',
      'installation',
      'missing-results',
      'sweep-trust',
    ],
  },
  {
    reason: 'starts processes of its own, whose subject is signals, pipes, times or kill -9 on the local disk',
    files: [
      'command-process',
      'command-signals',
      'docs-commands',
      'earlier-data-directory',
      'http-descriptors',
      'http-process',
      'kill',
      'kill-runs',
      'kill-uploads',
      'library-docs',
      'log-lost',
      'package',
      'schedule-processes',
      'serve-schedule',
      'start-failures',
      'workers',
    ],
  },
];

/** With `--all`, as at night. */
export const AT_NIGHT: readonly LeftOut[] = [
  {
    reason: 'what it looks for lies before the catalog and the store: how rows are read and written, what clients send',
    files: [
      'answers.property',
      'client-sdk',
      'defaults',
      'descriptions',
      'differential.property',
      'duckdb-writer.property',
      'dune-client-runs',
      'engines-guide',
      'filters-and-sorts.property',
      'foreign-writers.property',
      'formats.property',
      'http-csv',
      'http-filter-language',
      'http-formats',
      'http-front',
      'http-header-sizes',
      'http-injection',
      'http-unusual',
      'http-values',
      'indexes.property',
      'negative-zero',
      'openapi',
      'oracle.property',
      'publish-csv',
      'publish-exactly',
      'publish-foreign',
      'publish-input',
      'publish-json',
      'publish-page-checksums',
      'publish-refused',
      'publish-types',
      'publish-words',
      'round-trip.property',
      'row-order',
      'samples.property',
      'spellings.property',
      'wide-tables',
    ],
  },
];

/** The files to run, with their folder. */
export function clusterFiles(all: boolean): readonly string[] {
  const left = new Set([...LEFT_OUT, ...(all ? [] : AT_NIGHT)].flatMap(({ files }) => files));
  return readdirSync(FEATURE_TESTS)
    .filter((name) => name.endsWith(SUFFIX) && !left.has(name.slice(0, -SUFFIX.length)))
    .sort()
    .map((name) => join(FEATURE_TESTS, name));
}
