/**
 * Datasets of an installation's own: each a folder of QRS_DATASETS_DIR with `dataset.json`, which says what it is, and `query.sql`.
 * What is wrong is told with the file and the line, and the service does not start: an address that is not there would be
 * noticed by its users only.
 */
import type { Dirent } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ColumnTypeError, parseColumnType } from '../domain/column-type.ts';
import { CronError, checkCron } from '../domain/cron.ts';
import { nearest } from '../domain/nearest.ts';
import type { Column } from '../domain/result-set.ts';
import type { SourceTable } from '../engine/engine.ts';
import { codeOf } from '../errors/system-code.ts';
import { readUtf8 } from '../files/read-utf8.ts';
import type { ColumnMeanings, Dataset } from './dataset.ts';
import { type LocatedJson, NotJson, readLocatedJson } from './located-json.ts';

const DECLARATION_FILE = 'dataset.json';
const SQL_FILE = 'query.sql';
/** Ids from here on are for datasets of an installation's own; those before, of the reserved ones, for ours. */
export const OWN_QUERY_IDS_FROM = 990_500_001;

type Path = readonly (string | number)[];

/** @throws Error naming file and line */
export async function readDatasetFolder(folder: string): Promise<readonly Dataset[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw new Error(
      `QRS_DATASETS_DIR names ${folder}, which cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  });
  const names: string[] = [];
  for (const entry of entries) {
    if (!entry.name.startsWith('.') && (await isFolder(entry, folder))) names.push(entry.name);
  }
  return await Promise.all(names.toSorted().map((name) => readDataset(name, join(folder, name))));
}

/** Or a link to one: folders of a Kubernetes volume are. */
async function isFolder(entry: Dirent, parent: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const path = join(parent, entry.name);
  const target = await stat(path).catch((error: unknown) => {
    throw new Error(`${path} is a link that cannot be followed: ${error instanceof Error ? error.message : error}`);
  });
  return target.isDirectory();
}

async function readDataset(name: string, folder: string): Promise<Dataset> {
  const file = join(folder, DECLARATION_FILE);
  const text = await readUtf8(file).catch((error) => {
    if (codeOf(error) === undefined) throw error;
    throw new Error(`${file} is missing: each folder of QRS_DATASETS_DIR is a dataset`);
  });
  try {
    const declaration = new DeclarationReader(readLocatedJson(text)).read(name);
    const sqlFile = join(folder, SQL_FILE);
    await access(sqlFile).catch(() => {
      throw new Error(`${sqlFile} is missing: it has the SQL of the dataset`);
    });
    return { ...declaration, sqlFile: pathToFileURL(sqlFile), sql: (await readUtf8(sqlFile)).trimEnd() };
  } catch (error) {
    if (error instanceof NotJson || error instanceof DeclarationError) {
      throw new Error(`${file}:${error.line}: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

class DeclarationError extends Error {
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.line = line;
  }
}

const FIELDS = ['title', 'path', 'query_id', 'schedule', 'keep', 'columns', 'sources'];
const COLUMN_FIELDS = ['name', 'type', 'about', 'example', 'values'];
/** First parts of addresses that are others'. */
const TAKEN = /^\/v1\/(?:query|queries|execution|usage|sql|keys|users|teams|webhooks|shares)(?:\/|$)/;

class DeclarationReader {
  readonly #json: LocatedJson;

  constructor(json: LocatedJson) {
    this.#json = json;
  }

  read(name: string): Omit<Dataset, 'sqlFile' | 'sql'> {
    if (!/^[a-z][a-z0-9-]*$/.test(name)) {
      this.#fail([], `the folder is the dataset's name: lower-case letters, digits and hyphens, found "${name}"`);
    }
    const fields = this.#object([], this.#json.value, FIELDS);
    const columns = this.#list(['columns'], fields.columns).map((column, i) => this.#column(['columns', i], column));
    const twice = columns.findIndex(({ column }, i) => columns.findIndex((c) => c.column.name === column.name) !== i);
    if (twice >= 0)
      this.#fail(['columns', twice, 'name'], `a second column ${JSON.stringify(columns[twice]?.column.name)}`);
    if (columns.length === 0) this.#fail(['columns'], 'a dataset has columns');
    const keep = fields.keep === undefined ? {} : { keep: this.#integer(['keep'], fields.keep, 1, 100_000) };
    return {
      name,
      title: this.#text(['title'], fields.title),
      path: this.#path(fields.path),
      queryId: this.#integer(['query_id'], fields.query_id, OWN_QUERY_IDS_FROM, Number.MAX_SAFE_INTEGER),
      schedule: this.#schedule(fields.schedule),
      ...keep,
      columns: columns.map(({ column }) => column),
      columnPlaces: columns.map((_, i) => `${name}/${DECLARATION_FILE}:${this.#json.lineOf(['columns', i])}`),
      meanings: Object.fromEntries(columns.map(({ column, meaning }) => [column.name, meaning])),
      sources: this.#sources(fields.sources),
      fragments: {},
    };
  }

  #column(path: Path, value: unknown): { readonly column: Column; readonly meaning: ColumnMeanings[string] } {
    const { name, type, about, example, values } = this.#object(path, value, COLUMN_FIELDS);
    const column = { name: this.#text([...path, 'name'], name), type: this.#type([...path, 'type'], type) };
    const allowed =
      values === undefined ? {} : { values: this.#list([...path, 'values'], values) as readonly (string | null)[] };
    return { column, meaning: { about: this.#text([...path, 'about'], about), example: example ?? null, ...allowed } };
  }

  #sources(value: unknown): readonly SourceTable[] {
    if (value === undefined) return [];
    const tables = this.#object(['sources'], value);
    return Object.entries(tables).map(([name, columns]) => {
      const path = ['sources', name];
      if (!/^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/.test(name))
        this.#fail(path, `a source table is schema.table, found "${name}"`);
      const types = Object.entries(this.#object(path, columns));
      return {
        name,
        columns: types.map(([column, type]) => ({ name: column, type: this.#type([...path, column], type) })),
      };
    });
  }

  #path(value: unknown): string {
    const path = this.#text(['path'], value);
    if (!/^\/v1(?:\/[a-z0-9][a-z0-9_-]*)+$/.test(path))
      this.#fail(['path'], `an address is as /v1/shop/orders-by-day, found "${path}"`);
    if (TAKEN.test(path)) this.#fail(['path'], `the addresses below ${TAKEN.exec(path)?.[0]} are the service's own`);
    return path;
  }

  #schedule(value: unknown): string {
    const expression = this.#text(['schedule'], value);
    try {
      checkCron(expression);
    } catch (error) {
      if (!(error instanceof CronError)) throw error;
      this.#fail(['schedule'], error.message);
    }
    return expression;
  }

  #type(path: Path, value: unknown): Column['type'] {
    try {
      return parseColumnType(this.#text(path, value));
    } catch (error) {
      if (!(error instanceof ColumnTypeError)) throw error;
      this.#fail(path, error.message);
    }
  }

  #integer(path: Path, value: unknown, min: number, max: number): number {
    if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    this.#fail(path, `expected a whole number from ${min} to ${max}, found ${JSON.stringify(value) ?? 'nothing'}`);
  }

  #text(path: Path, value: unknown): string {
    if (typeof value === 'string' && value.trim() !== '') return value;
    this.#fail(path, `expected a text, found ${JSON.stringify(value) ?? 'nothing'}`);
  }

  #list(path: Path, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    this.#fail(path, `expected a list, found ${JSON.stringify(value) ?? 'nothing'}`);
  }

  /** @param known the names that it may have; any when left out */
  #object(path: Path, value: unknown, known?: readonly string[]): Readonly<Record<string, unknown>> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#fail(path, `expected an object, found ${JSON.stringify(value) ?? 'nothing'}`);
    }
    const unknown = known && Object.keys(value).find((name) => !known.includes(name));
    if (unknown !== undefined && known !== undefined) {
      const [near] = nearest(unknown, known);
      this.#fail(
        [...path, unknown],
        `unknown field "${unknown}"${near === undefined ? '' : `: did you mean "${near}"?`}`,
      );
    }
    return value as Readonly<Record<string, unknown>>;
  }

  #fail(path: Path, message: string): never {
    const name = path.filter((part) => part !== '').join('.');
    throw new DeclarationError(`${name === '' ? '' : `${name}: `}${message}`, this.#json.lineOf(path));
  }
}
