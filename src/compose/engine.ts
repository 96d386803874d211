/** From settings to the engine that runs the SQL of queries. */
import { readFile } from 'node:fs/promises';
import type { Sleep } from '../domain/time.ts';
import type { Engine } from '../engine/engine.ts';
import { StartupError } from '../errors/startup-error.ts';
import { type DiskRoom, withRoom } from '../files/disk-room.ts';
import type { TrinoLocation } from '../settings/location.ts';
import { engineMemoryOfEach } from '../settings/memory.ts';
import { SETTINGS, type Settings } from '../settings/settings.ts';
import { tempBytesOfEach } from './spilling.ts';

/** Absolute paths. */
export interface EngineDirectories {
  readonly sources: string;
  readonly temp: string;
}

/** @throws StartupError */
export async function openEngine(
  settings: Settings,
  { sources, temp }: EngineDirectories,
  sleep: Sleep,
): Promise<Engine> {
  const { engine } = settings;
  const limits = {
    tempDirectory: temp,
    threads: settings.engineThreads,
    memoryBytes: engineMemoryOfEach(settings.engineMemoryBytes, settings.runsMax),
    tempBytesMax: Math.floor(tempBytesOfEach(settings) / settings.runsMax),
    resultBytesMax: settings.engineResultBytesMax,
    timeLimitMillis: settings.engineTimeoutMillis,
    sleep,
  };
  switch (engine.kind) {
    case 'duckdb': {
      const { DuckDbEngine } = await import('../engine/duckdb/duckdb-engine.ts');
      return new DuckDbEngine({ ...limits, sourcesDirectory: sources });
    }
    case 'trino': {
      const { TrinoEngine } = await import('../engine/trino/trino-engine.ts');
      const address = await trinoAddress(engine, settings);
      return new TrinoEngine({ ...limits, address, queryMemoryBytes: settings.trinoMemoryBytes });
    }
    default:
      return engine satisfies never;
  }
}

/** The same engine. On a full disk, what can be had again makes room for the rows of a query, which is run once more. */
export function engineInRoom(engine: Engine, room: DiskRoom): Engine {
  return {
    materialize: (...run) => withRoom(room, () => engine.materialize(...run)),
    check: (...query) => engine.check(...query),
    hasAny: (...sources) => engine.hasAny(...sources),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

async function trinoAddress(location: TrinoLocation, { trinoToken, trinoCaFile }: Settings) {
  const isSecure = location.origin.startsWith('https:');
  if (trinoToken !== undefined && !isSecure) {
    throw new StartupError(
      `${SETTINGS.trinoToken.name} is sent over TLS only: add tls=true to ${SETTINGS.engine.name}`,
    );
  }
  const certificates = trinoCaFile === undefined ? undefined : await readCertificates(trinoCaFile);
  return { ...location, token: trinoToken, certificates };
}

async function readCertificates(path: string): Promise<string> {
  const problem = (what: string) => new StartupError(`${SETTINGS.trinoCaFile.name}: ${path} ${what}`);
  const pem = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw problem(`cannot be read (${error.code})`);
  });
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) throw problem('holds no certificate (PEM)');
  return pem;
}

/** In words, for those who look for a table that is missing. */
export function placeOfSources({ engine }: Pick<Settings, 'engine'>, directory: string): string {
  return engine.kind === 'trino' ? `the catalog ${engine.catalog} of the Trino at ${engine.origin}` : directory;
}
