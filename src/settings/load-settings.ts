/**
 * From the environment and the configuration file to the settings. All problems are refusals: a misspelt name that was
 * silently ignored would run the service with a limit that nobody asked for.
 */
import { nearest } from '../domain/nearest.ts';
import { ConfigFileError, parseConfigFile } from './config-file.ts';
import { maskPassword } from './location.ts';
import { bytesOf, isShare, type Share } from './memory.ts';
import type { Setting } from './setting.ts';
import { BadValue } from './setting-value.ts';
import { SETTINGS, type Settings } from './settings.ts';

export class SettingsError extends Error {
  override readonly name: string = 'SettingsError';
}

export interface SettingsInput {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The text of a file, or undefined when there is none. Relative paths are those of the working directory. @throws Error naming the file */
  readonly readFile: (path: string) => string | undefined;
  /** Memory of the machine or its cgroup. Absent, it is taken to be plenty. */
  readonly machineBytes?: number;
}

/** One setting as it is in effect. */
export interface EffectiveSetting {
  readonly name: string;
  /** As written, with passwords masked. */
  readonly value: string;
  /** `environment`, `default`, or the path of the configuration file. */
  readonly source: string;
}

export interface LoadedSettings {
  readonly settings: Settings;
  readonly effective: readonly EffectiveSetting[];
}

const PREFIX = 'QRS_';
const USUAL_FILE = 'qrs.env';
const ALL: readonly Setting<unknown>[] = Object.values(SETTINGS);
const NAMES = ALL.map((setting) => setting.name);

interface Given {
  readonly value: string;
  readonly source: string;
}

/** @throws SettingsError in one line: which name, from where, what is expected. */
export function loadSettings(input: SettingsInput): LoadedSettings {
  const given = new Map<string, Given>(givenInFile(input));
  for (const [name, value] of Object.entries(input.environment)) {
    if (!name.startsWith(PREFIX) || value === undefined) continue;
    requireKnown(name, 'the environment');
    given.set(name, { value: value.trim(), source: 'environment' });
  }
  const values: Record<string, unknown> = {};
  const effective: EffectiveSetting[] = [];
  for (const [key, setting] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const { value, source } = effectiveValue(setting, given);
    values[key] = readValue(setting, value, source);
    effective.push({ name: setting.name, value: shown(setting, value), source });
  }
  return { settings: withBytes(values, input.machineBytes) as unknown as Settings, effective };
}

/** Shares of memory as bytes: of the machine first, since the others are shares of that one. */
function withBytes(
  values: Readonly<Record<string, unknown>>,
  machineBytes = Number.MAX_SAFE_INTEGER,
): Readonly<Record<string, unknown>> {
  const resolve = (value: unknown, of: Share['of'], wholeBytes: number) =>
    isShare(value) && value.of === of ? bytesOf(value, wholeBytes) : value;
  const memoryBytes = Number(resolve(values.memoryBytes, 'machine', machineBytes));
  const entries = Object.entries({ ...values, memoryBytes });
  return Object.fromEntries(entries.map(([key, value]) => [key, resolve(value, 'memory', memoryBytes)]));
}

/** An empty value is no value, as containers pass variables that nobody has set; unless it can mean something (no names). */
function effectiveValue(setting: Setting<unknown>, given: ReadonlyMap<string, Given>): Given {
  const found = given.get(setting.name);
  const absent = found === undefined || (found.value === '' && !takesEmpty(setting));
  return absent ? { value: setting.default, source: 'default' } : found;
}

function takesEmpty(setting: Setting<unknown>): boolean {
  try {
    return setting.read('') !== undefined;
  } catch (error) {
    if (error instanceof BadValue) return false;
    throw error;
  }
}

function readValue(setting: Setting<unknown>, value: string, source: string): unknown {
  try {
    return setting.read(value);
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    const where = source === 'environment' ? '' : ` (in ${source})`;
    throw new SettingsError(`${setting.name} is "${shown(setting, value)}"${where}: ${error.message}`);
  }
}

function shown(setting: Setting<unknown>, value: string): string {
  if (setting.secret === 'whole') return value === '' ? '' : '***';
  return setting.secret === 'password' ? maskPassword(value) : value;
}

function* givenInFile(input: SettingsInput): Iterable<[string, Given]> {
  const named = input.environment[SETTINGS.configFile.name]?.trim();
  const path = named === undefined || named === '' ? USUAL_FILE : named;
  const text = readConfigFile(input, path);
  if (text === undefined) {
    if (path === named) throw new SettingsError(`${SETTINGS.configFile.name} names ${path}, which does not exist`);
    return;
  }
  try {
    for (const { name, value, line } of parseConfigFile(text, path)) {
      requireKnown(name, `${path}, line ${line}`);
      // Left empty it does no harm, so that what `qrs config` prints can be used as a file.
      if (name === SETTINGS.configFile.name && value !== '') {
        throw new SettingsError(`${path}, line ${line}: ${name} is read from the environment only`);
      }
      yield [name, { value, source: path }];
    }
  } catch (error) {
    throw error instanceof ConfigFileError ? new SettingsError(error.message) : error;
  }
}

function readConfigFile(input: SettingsInput, path: string): string | undefined {
  try {
    return input.readFile(path);
  } catch (error) {
    throw new SettingsError(`${SETTINGS.configFile.name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function requireKnown(name: string, where: string): void {
  if (NAMES.includes(name)) return;
  const near = nearest(
    name.slice(PREFIX.length),
    NAMES.map((known) => known.slice(PREFIX.length)),
  );
  const hint = near[0] === undefined ? '; `qrs config` lists all' : `; did you mean ${PREFIX}${near[0]}?`;
  throw new SettingsError(`${name} (in ${where}) is no setting${hint}`);
}
