/**
 * From settings to implementations: the only file that names them all. Each is loaded and opened when first asked for, so
 * that a command which only needs the catalog starts no database engine.
 *
 * The data directory: `catalog.sqlite`, `results/` (the store, with `staging/` inside: objects being written, so that they are
 * renamed into their places; for a store in S3 `fetched/` and `staging/` in their stead), `views/` (materialised views), `derived/`
 * (what else was made from results to read them faster), `tmp/` (what DuckDB spills), `sources/` (tables that queries read).
 */
import { randomUUID } from 'node:crypto';
import { access, constants } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import type { Datasets } from '../datasets/registry.ts';
import type { Clock } from '../domain/instant.ts';
import { once } from '../domain/once.ts';
import type { Sleep } from '../domain/time.ts';
import type { DuckDb } from '../duckdb/duckdb.ts';
import type { WarmDuckDbs } from '../duckdb/warm-duckdb.ts';
import type { Engine } from '../engine/engine.ts';
import { folderFailure, StartupError } from '../errors/startup-error.ts';
import { withReason } from '../errors/store-unavailable.ts';
import { DiskRoom } from '../files/disk-room.ts';
import { makeFolder } from '../files/make-folder.ts';
import { findOverlap, type NamedPath } from '../files/overlap.ts';
import type { FileLocation } from '../settings/location.ts';
import { SETTINGS, type Settings } from '../settings/settings.ts';
import { STAGING } from '../store/object-path.ts';
import type { ResultStore } from '../store/result-store.ts';
import { openEngine, placeOfSources } from './engine.ts';
import { Opened } from './opened.ts';
import { tempBytesOfEach } from './spilling.ts';

/** Absolute paths. */
export interface Directories {
  readonly data: string;
  /** Where the files of results are that DuckDB reads: the root of a local store, or what was fetched from another. */
  readonly results: string;
  readonly staging: string;
  readonly temp: string;
  readonly views: string;
  readonly derived: string;
  readonly sources: string;
  /** A file that keeps room on the disk of the data directory, beside the catalog if that is a file. */
  readonly reserve: string;
}

/** The effects that the parts need from outside. */
export interface ServiceEffects {
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
}

/** The parts of the service. Everything that was opened is closed in reverse order when the service is disposed of. */
export interface Service extends ServiceEffects, AsyncDisposable {
  readonly settings: Settings;
  readonly directories: Directories;
  /** Where the source tables are, in words: a folder, or a catalog of Trino. */
  readonly placeOfSources: string;
  /** Room on the disk of the data directory, of which a process that serves has something to give up. */
  readonly room: DiskRoom;
  catalog(): Promise<Catalog>;
  /** The store of this catalog: checked to be so, or joined to it when both are first used. */
  store(): Promise<ResultStore>;
  /** The store, whichever installation it belongs to. */
  storeAlone(): Promise<ResultStore>;
  /**
   * The DuckDB that reads ranges of rows: one thread for each, which keeps rows in order and lets many ranges be read side by
   * side.
   */
  rangeReader(): Promise<DuckDb>;
  /** The DuckDB that searches results, with as many threads as the settings say. */
  scanner(): Promise<DuckDb>;
  /** The DuckDB that writes views and Parquet answers. */
  writer(): Promise<DuckDb>;
  /** DuckDBs that convert what is sent over HTTP, from staging to staging. */
  publishers(): Promise<WarmDuckDbs>;
  /** Runs the queries of datasets and users. */
  engine(): Promise<Engine>;
  /** The curated datasets, as the settings have them. */
  datasets(): Promise<Datasets>;
}

/** A quarter of the memory for reading: a range is a row group or two, beside the footers of files, which are kept. */
const RANGES_SHARE = 1 / 4;
const RANGES_BYTES_MIN = 64_000_000;
/**
 * The most bytes of footers that a DuckDB may keep, by its own count. It may exceed that twofold before it is closed, which then holds the
 * event loop for 15 ms.
 */
const FOOTERS_BYTES_MAX = 3_000_000;

export async function openService(settings: Settings, { clock, sleep, monotonic }: ServiceEffects): Promise<Service> {
  const directories = directoriesOf(settings);
  await requireApart(directories, catalogPath(settings, directories.data));
  await makePrivate(directories.data);
  const opened = new Opened();
  const duckDbs = async (threads: number, memoryBytes: number, allowedDirectories: readonly string[]) => {
    const { DuckDb } = await import('../duckdb/duckdb.ts');
    const { makeOwnScratch } = await import('./own-scratch.ts');
    const temp = opened.use(await makeOwnScratch(directories.temp));
    return async () =>
      await DuckDb.open({
        threads,
        memoryLimit: `${Math.floor(memoryBytes)}B`,
        tempDirectory: temp.path,
        tempSizeMax: `${tempBytesOfEach(settings)}B`,
        allowedDirectories: [...allowedDirectories, temp.path],
        footersBytesMax: FOOTERS_BYTES_MAX,
        sleep,
      });
  };
  const duckDb = async (...given: Parameters<typeof duckDbs>) => opened.use(await (await duckDbs(...given))());
  const service: Service = {
    settings,
    clock,
    sleep,
    monotonic,
    directories,
    placeOfSources: placeOfSources(settings, directories.sources),
    room: new DiskRoom(),
    catalog: once(async () => opened.use(await openCatalog(settings, directories, { clock, sleep, monotonic }))),
    store: once(async () => {
      const { requireJoined } = await import('../maintenance/installation.ts');
      const [catalog, store] = [await service.catalog(), await service.storeAlone()];
      await requireJoined({ catalog, store }, randomUUID).catch((error: unknown) => {
        throw withReason(error);
      });
      return store;
    }),
    storeAlone: once(async () => await openStore(service, opened)),
    rangeReader: once(async () => {
      const memoryBytes = rangesMemory(settings.readMemoryBytes);
      return await duckDb(1, memoryBytes, [directories.results, directories.views]);
    }),
    scanner: once(async () => {
      const threads = settings.readThreads === 'cores' ? availableParallelism() : settings.readThreads;
      const memoryBytes = settings.readMemoryBytes - rangesMemory(settings.readMemoryBytes);
      return await duckDb(threads, memoryBytes, [directories.results, directories.views]);
    }),
    writer: once(async () => {
      return await duckDb(settings.heavyThreads, settings.heavyMemoryBytes, [directories.results, directories.views]);
    }),
    publishers: once(async () => {
      const { WarmDuckDbs } = await import('../duckdb/warm-duckdb.ts');
      const open = await duckDbs(1, settings.publishMemoryBytes, [directories.staging]);
      return opened.use(new WarmDuckDbs({ open, sleep }));
    }),
    engine: once(async () => {
      const { makeOwnScratch } = await import('./own-scratch.ts');
      const temp = opened.use(await makeOwnScratch(directories.temp));
      return opened.use(await openEngine(settings, { sources: directories.sources, temp: temp.path }, sleep));
    }),
    datasets: once(async () => {
      const { loadDatasets } = await import('../datasets/registry.ts');
      const { checkOwnDatasets } = await import('../datasets/check-own.ts');
      const datasets = await loadDatasets(settings);
      if (settings.datasetsDir !== undefined) await checkOwnDatasets(datasets, await service.engine());
      return datasets;
    }),
    [Symbol.asyncDispose]: async () => await opened.close(),
  };
  return service;
}

async function openCatalog(settings: Settings, directories: Directories, effects: ServiceEffects): Promise<Catalog> {
  const { catalog } = settings;
  switch (catalog.kind) {
    case 'sqlite': {
      const { openSqliteCatalog } = await import('../catalog/sqlite/sqlite-catalog.ts');
      const { ReserveFile } = await import('../files/reserve-file.ts');
      const path = sqlitePath(catalog, directories.data);
      // Opening the catalog needs disk space. A full disk gets space from a sweep, and the sweep needs the catalog.
      return await new ReserveFile(directories.reserve).during(() => openSqliteCatalog(path, effects));
    }
    case 'postgres': {
      const { openPostgresCatalog } = await import('../catalog/postgres/postgres-catalog.ts');
      return await openPostgresCatalog(catalog.url, {
        ...effects,
        stalenessMaxMillis: settings.catalogStalenessMillis,
        connectionsMax: settings.catalogConnectionsMax,
      });
    }
    default:
      return catalog satisfies never;
  }
}

async function openStore(service: Service, opened: Opened): Promise<ResultStore> {
  const { settings, clock } = service;
  const { results } = service.directories;
  const { store } = settings;
  switch (store.kind) {
    case 'file': {
      await makePrivate(results, SETTINGS.store.name);
      const { LocalResultStore } = await import('../store/local/local-result-store.ts');
      return await LocalResultStore.open(results);
    }
    case 's3': {
      const { makeOwnScratch } = await import('./own-scratch.ts');
      const { S3ResultStore } = await import('../store/s3/s3-result-store.ts');
      const { path: cacheFolder } = opened.use(await makeOwnScratch(results));
      return opened.use(
        new S3ResultStore({
          ...store,
          cacheFolder,
          cacheBytesMax: settings.storeCacheBytesMax,
          room: { disk: service.room, clock },
        }),
      );
    }
    default:
      return store satisfies never;
  }
}

function directoriesOf(settings: Settings): Directories {
  const data = resolve(settings.dataDir);
  const { store } = settings;
  const isHere = store.kind === 'file';
  const results = isHere && store.path !== undefined ? resolve(store.path) : join(data, isHere ? 'results' : 'fetched');
  return {
    data,
    results,
    staging: join(isHere ? results : data, STAGING),
    temp: join(data, 'tmp'),
    views: join(data, 'views'),
    derived: join(data, 'derived'),
    sources: settings.sourcesDir === undefined ? join(data, 'sources') : resolve(settings.sourcesDir),
    reserve: `${catalogPath(settings, data) ?? join(data, 'catalog')}-reserve`,
  };
}

/** Undefined: it is no file. */
function catalogPath({ catalog }: Settings, data: string): string | undefined {
  return catalog.kind === 'sqlite' ? sqlitePath(catalog, data) : undefined;
}

function sqlitePath({ path }: FileLocation<'sqlite'>, data: string): string {
  return path === undefined ? join(data, 'catalog.sqlite') : resolve(path);
}

/**
 * Refuses overlapping folders: what is deleted in one must not be missing in another.
 * @throws StartupError naming two that overlap
 */
async function requireApart(directories: Directories, catalog: string | undefined): Promise<void> {
  const { data, results, views, derived, temp, sources } = directories;
  const apart: readonly NamedPath[] = [
    { name: `the store (${SETTINGS.store.name})`, path: results },
    { name: `the source tables (${SETTINGS.sourcesDir.name})`, path: sources },
    { name: 'the folder of views', path: views },
    { name: 'the folder of derived files', path: derived },
    { name: 'the folder of temporary files', path: temp },
  ];
  const around: readonly NamedPath[] = [
    { name: `the data directory (${SETTINGS.dataDir.name})`, path: data },
    ...(catalog === undefined ? [] : [{ name: `the catalog (${SETTINGS.catalog.name})`, path: catalog }]),
  ];
  const found = await findOverlap([...around, ...apart], apart);
  if (found === undefined) return;
  const { inner, outer, same } = found;
  const relation = same ? 'is the same folder as' : 'lies inside of';
  throw new StartupError(
    `${inner.name}, ${inner.path}, ${relation} ${outer.name}, ${outer.path}: give each a place of its own`,
  );
}

/** @throws StartupError when there can be no such folder, or nothing can be written to it */
async function makePrivate(directory: string, setting: string = SETTINGS.dataDir.name): Promise<void> {
  try {
    await makeFolder(directory);
    await access(directory, constants.W_OK);
  } catch (error) {
    throw folderFailure(error, directory, setting);
  }
}

/** The part of the memory for reading that ranges have. With less than 64 MB two ranges of an export do not fit beside each other. */
function rangesMemory(readMemoryBytes: number): number {
  return Math.min(readMemoryBytes / 2, Math.max(readMemoryBytes * RANGES_SHARE, RANGES_BYTES_MIN));
}
