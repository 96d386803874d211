/**
 * Statistics of columns on disk, a small file for each column of a result, so that they outlive the process and serve all processes of the
 * machine. Like all that is derived they may be removed at any time, and are made again then. A file begins with the hash of its name and of
 * what follows, so one that is damaged, or that was put in another's place, is known, and removed.
 */
import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import type { ResultSet } from '../../domain/result-set.ts';
import { derivedName } from '../../domain/written-names.ts';
import type { DerivedFiles } from './derived-files.ts';

/** Raise it when what is told of a column changes: then files have other names, and answers other tags. */
export const STATISTICS_FORMAT = 4;
const IDENTITY_DIGITS = 16;
const HASH_DIGITS = 64;
/** Those of a smaller result are made again as quickly. */
const ROWS_MIN = 10_000;

/** The column of a result that statistics are of. */
export interface StatisticsOrigin {
  readonly executionId: string;
  readonly resultSet: ResultSet;
  readonly index: number;
}

export class StatisticsFiles {
  readonly #files: Pick<DerivedFiles, 'pathOf' | 'publish' | 'remove' | 'stagingPath' | 'touch'>;
  readonly #encoder: string;

  /** @param encoder the versions of everything that writes values */
  constructor(files: Pick<DerivedFiles, 'pathOf' | 'publish' | 'remove' | 'stagingPath' | 'touch'>, encoder: string) {
    this.#files = files;
    this.#encoder = encoder;
  }

  /** @returns JSON; undefined where there is none, or none that is whole */
  async find(origin: StatisticsOrigin): Promise<string | undefined> {
    if (!isKept(origin)) return undefined;
    const name = this.#nameOf(origin);
    const text = await readFile(this.#files.pathOf(name), 'utf8').catch(() => undefined);
    if (text === undefined) return undefined;
    const json = text.slice(HASH_DIGITS);
    if (hashOf(name, json) !== text.slice(0, HASH_DIGITS)) {
      // Where it must stay, another takes its place once it is made.
      await this.#files.remove(name).catch(() => undefined);
      return undefined;
    }
    await this.#files.touch(name);
    return json;
  }

  /** Keeps what was made. Where it cannot be written, as on a full disk, it is made again when it is asked for again. */
  async keep(origin: StatisticsOrigin, json: string): Promise<void> {
    if (!isKept(origin)) return;
    const name = this.#nameOf(origin);
    const staged = this.#files.stagingPath();
    try {
      await writeFile(staged, hashOf(name, json) + json);
      await this.#files.publish(name, staged);
    } catch {
      await rm(staged, { force: true }).catch(() => undefined);
    }
  }

  #nameOf({ executionId, resultSet, index }: StatisticsOrigin): string {
    const parts = resultSet.parts.map(({ sha256 }) => sha256);
    const made = JSON.stringify([STATISTICS_FORMAT, this.#encoder, resultSet.columns[index], parts]);
    const identity = createHash('sha256').update(made).digest('hex').slice(0, IDENTITY_DIGITS);
    return derivedName(executionId, `c${index}`, identity, 'statistics');
  }
}

function isKept({ resultSet }: StatisticsOrigin): boolean {
  return resultSet.rowCount >= ROWS_MIN;
}

/** The name says which column of which result it is. */
function hashOf(name: string, json: string): string {
  return createHash('sha256').update(`${name}\n${json}`).digest('hex');
}
