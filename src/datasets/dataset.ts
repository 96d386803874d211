/**
 * A curated dataset: a public query that the service runs itself, on a schedule, and serves under an address of its own
 * (specification §§4.3–4.6). Each is declared in a folder of its own beside this file: what it is called, what its
 * columns are, which tables it reads, and its SQL as a file. `declared.ts` lists them.
 */
import { readFile } from 'node:fs/promises';
import { parseColumnType } from '../domain/column-type.ts';
import { formatInstant, type Instant } from '../domain/instant.ts';
import type { ParameterValue } from '../domain/parameter-values.ts';
import type { Column } from '../domain/result-set.ts';
import type { SourceTable } from '../engine/engine.ts';
import { fillTemplate } from './sql-template.ts';
import { writtenPlace } from './written-place.ts';

/** What a column means, with a value as it could stand there, as the description of the API shows them. */
export interface ColumnMeaning {
  readonly about: string;
  readonly example: unknown;
  /** All values that there are, where they are few. */
  readonly values?: readonly (string | null)[];
}

export type ColumnMeanings = Readonly<Record<string, ColumnMeaning>>;

export interface DatasetDeclaration {
  /** Unique; the last part of a name that people type: `qrs datasets refresh operator-stats`. */
  readonly name: string;
  /** What it is, in one sentence. */
  readonly title: string;
  /** The address, from the version on: `/v1/restaking/operator-stats`. */
  readonly path: string;
  /** The query whose runs are its refreshes. Curated queries have ids from 990000001 on. */
  readonly queryId: number;
  /** When it is refreshed: a cron expression in UTC. */
  readonly schedule: string;
  /** How many of its latest results are kept; as many as the service's setting says when left out. */
  readonly keep?: number;
  /** What its rows promise, in order. A refresh whose columns are not these fails. */
  readonly columns: readonly Column[];
  /** What each column means, by its name. */
  readonly meanings: ColumnMeanings;
  readonly sources: readonly SourceTable[];
  /** The SQL: one SELECT. `{{name}}` stands for the fragment of that name. */
  readonly sqlFile: URL;
  /** What stands for `{{name}}` in the SQL: text, or another file of SQL. Each must be used, none may be missing. */
  readonly fragments: Readonly<Record<string, string | URL>>;
}

/** A declaration whose SQL has been read and filled in. */
export interface Dataset extends DatasetDeclaration {
  /** Complete but for the parameter `{{as_of}}`, to which each run gives its value: see `asOfValue`. */
  readonly sql: string;
  /** Where each column is declared, for errors: `orders-by-day/dataset.json:10`. Left out where that is in code. */
  readonly columnPlaces?: readonly string[];
}

/** How the columns of the twelve liquid-staking strategies are called: `strategy_01_TVL` or `cbETH_TVL`. */
export type StrategyColumnNames = 'number' | 'token';

export interface DatasetOptions {
  readonly strategyColumnNames: StrategyColumnNames;
  /** The folder of an installation's own datasets. */
  readonly datasetsDir?: string | undefined;
}

/** The moment that a dataset describes: a parameter that every SQL file may use. */
const AS_OF = 'as_of';

/**
 * Reads a declaration's SQL.
 * @throws Error naming the dataset, when a file is missing or a fragment is unknown or unused.
 */
export async function loadDataset(declaration: DatasetDeclaration): Promise<Dataset> {
  try {
    const fragments: Record<string, string> = {};
    for (const [name, fragment] of Object.entries(declaration.fragments)) {
      fragments[name] = typeof fragment === 'string' ? fragment : await readSql(fragment);
    }
    const sql = fillTemplate(await readSql(declaration.sqlFile), fragments, [AS_OF]);
    return { ...declaration, sql };
  } catch (error) {
    throw new Error(`dataset ${declaration.name}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

async function readSql(file: URL): Promise<string> {
  return (await readFile(file, 'utf8')).trimEnd();
}

/** What `{{as_of}}` stands for in a run that describes the moment `at`: that moment, to the second. */
export function asOfValue(at: Instant): ParameterValue {
  return { key: AS_OF, type: 'datetime', value: `${formatInstant(at).slice(0, 19).replace('T', ' ')}+00:00` };
}

/** Columns or source columns from `{ name: type name }`, in the order written. */
export function columnsOf(types: Readonly<Record<string, string>>): readonly Column[] {
  return Object.entries(types).map(([name, type]) => {
    try {
      return { name, type: parseColumnType(type) };
    } catch (error) {
      const place = writtenPlace(name, columnsOf);
      const where = place === undefined ? '' : `dataset ${place}: `;
      throw new Error(`${where}column ${name}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  });
}
