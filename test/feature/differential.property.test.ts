/**
 * The differential law. A published file answers filters and sorts as DuckDB does with the file's rows in memory, where no row
 * group is skipped. The SQL is written here beside each filter and shares nothing with the service's own translation.
 * TEST_CASES=… makes a night of it, TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { rowsOf, walk } from './http-client.ts';
import { startHttpService } from './http-service.ts';
import { Random } from './random-results.ts';

const CASES = Number(process.env.TEST_CASES ?? 25);
const SEED = Number(process.env.TEST_SEED ?? 1);
/** Ten row groups, two in each part. */
const ROWS = 20_000;
const LAYOUT = { rowGroupRows: 2048, rowGroupsPerPart: 2 };
/** First pages are read directly, others from views. */
const DIRECT_ROWS = 1000;

interface SourceColumn {
  readonly name: string;
  /** SQL of the value at row i; h is another large number for each row and column. */
  readonly value: string;
  /** SQL of the value that comparisons use. */
  readonly compared?: string;
  /** SQL of a value's digits or letters. */
  readonly text?: string;
  /** A filter's literal for such a text. */
  readonly literal: (text: string) => string;
  /** The SQL for such a text. */
  readonly sql: (text: string) => string;
  /** Columns of one family can be compared with each other. */
  readonly family: string;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const bare = (text: string) => text;
const cast = (type: string) => (text: string) => `CAST(${quoted(text)} AS ${type})`;
const float = (text: string) => (/[a-z]{3}/.test(text) ? quoted(text) : text);

const COLUMNS: readonly SourceColumn[] = [
  { name: 'tiny', value: '(h % 256 - 128)::TINYINT', literal: bare, sql: cast('TINYINT'), family: 'whole' },
  { name: 'kind', value: '(h % 40 * 31)::INTEGER', literal: bare, sql: cast('INTEGER'), family: 'whole' },
  { name: 'big', value: 'h::BIGINT', literal: bare, sql: cast('BIGINT'), family: 'whole' },
  { name: 'block', value: '(i // 100 * 12)::BIGINT', literal: bare, sql: cast('BIGINT'), family: 'whole' },
  {
    name: 'price',
    value: '((h % 100000)::DECIMAL(18, 4) / 10000)::DECIMAL(18, 4)',
    literal: bare,
    sql: cast('DECIMAL(18, 4)'),
    family: 'decimal',
  },
  {
    name: 'share',
    value: `(['nan', 'inf', '-inf', '-0.0', '0.0', '0.1', '1e300', '-5e-324'])[h % 8 + 1]::DOUBLE`,
    // Minus zero is zero.
    compared: '(share + 0.0)',
    literal: float,
    sql: (text) => `(CAST(${quoted(text)} AS DOUBLE) + 0.0)`,
    family: 'double',
  },
  { name: 'ratio', value: '(h % 1000 / 7)::FLOAT', literal: float, sql: cast('FLOAT'), family: 'real' },
  {
    name: 'name',
    value: `(['a', 'ab', 'Ab', 'é', '😀', '\uff5e', ''])[h % 7 + 1] || (h // 7 % 30)`,
    literal: quoted,
    sql: quoted,
    family: 'text',
  },
  {
    name: 'hash',
    value: 'unhex(md5((h % 300)::VARCHAR))',
    text: 'hex(hash)',
    literal: (text) => `0x${text}`,
    sql: (text) => `unhex('${text}')`,
    family: 'bytes',
  },
  {
    name: 'day',
    value: `DATE '1969-06-01' + (h % 500)::INTEGER`,
    literal: quoted,
    sql: cast('DATE'),
    family: 'day',
  },
  {
    name: 'moment',
    value: `TIMESTAMP '1969-12-31 23:00:00' + to_microseconds((h % 7200000000)::BIGINT)`,
    literal: quoted,
    sql: cast('TIMESTAMP'),
    family: 'time',
  },
  {
    name: 'seen',
    value: `TIMESTAMPTZ '2024-03-05 00:00:00+00' + to_seconds(i // 50)`,
    text: `strftime(seen, '%Y-%m-%d %H:%M:%S')`,
    literal: quoted,
    sql: (text) => `CAST('${text}+00' AS TIMESTAMPTZ)`,
    family: 'zoned',
  },
  { name: 'id', value: 'md5((h % 50)::VARCHAR)::UUID', literal: quoted, sql: cast('UUID'), family: 'uuid' },
];

/** A filter as a client writes it, and the same in SQL. */
interface Pair {
  readonly filter: string;
  readonly sql: string;
}

class Source {
  readonly #connection: DuckDBConnection;
  readonly #texts: ReadonlyMap<string, readonly string[]>;

  private constructor(connection: DuckDBConnection, texts: ReadonlyMap<string, readonly string[]>) {
    this.#connection = connection;
    this.#texts = texts;
  }

  /** Makes the rows, in memory and in a file. */
  static async make(path: string): Promise<Source> {
    const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
    const connection = await instance.connect();
    await connection.run(`SET TimeZone = 'UTC'`);
    const columns = COLUMNS.map(({ name, value }, k) => {
      const h = `(hash(i * 31 + ${k}) >> 2)::BIGINT`;
      return `CASE WHEN hash(i * 37 + ${k}) % 11 > 0 THEN ${value.replaceAll(/\bh\b/g, h)} END AS ${name}`;
    });
    const flag = 'CASE WHEN i % 5 > 0 THEN hash(i) % 2 = 0 END AS flag';
    const list = '[hash(i) % 9, NULL, hash(i + 1) % 9]::BIGINT[] AS list';
    await connection.run(
      `CREATE TABLE t AS SELECT ${[...columns, flag, list].join(', ')}, i::BIGINT AS n FROM range(${ROWS}) r(i) ORDER BY i`,
    );
    await connection.run(`COPY (FROM t ORDER BY n) TO '${path}' (FORMAT parquet)`);
    const texts = new Map<string, readonly string[]>();
    for (const { name, text } of COLUMNS) {
      const shown = text ?? `${name}::VARCHAR`;
      const found = await connection.runAndReadAll(
        `SELECT DISTINCT ${shown} AS x FROM t WHERE ${name} IS NOT NULL ORDER BY hash(x) LIMIT 60`,
      );
      texts.set(
        name,
        found.getRows().map(([value]) => String(value)),
      );
    }
    return new Source(connection, texts);
  }

  /** Numbers of the rows, in the order asked for. */
  async rows(where: string, orderBy: readonly string[]): Promise<readonly number[]> {
    const text = `SELECT n::INTEGER FROM t WHERE ${where} ORDER BY ${[...orderBy, 'n'].join(', ')}`;
    return (await this.#connection.runAndReadAll(text)).getRows().map(([n]) => Number(n));
  }

  randomFilter(random: Random, depth = 0): Pair {
    const roll = random.below(10);
    if (depth < 2 && roll < 4) {
      const operator = random.pick(['and', 'or']);
      const [a, b] = [this.randomFilter(random, depth + 1), this.randomFilter(random, depth + 1)];
      return { filter: `(${a.filter}) ${operator} (${b.filter})`, sql: `((${a.sql}) ${operator} (${b.sql}))` };
    }
    if (depth < 2 && roll === 4) {
      const negated = this.randomFilter(random, depth + 1);
      return { filter: `not (${negated.filter})`, sql: `NOT (${negated.sql})` };
    }
    return this.#term(random);
  }

  #term(random: Random): Pair {
    const roll = random.below(20);
    if (roll === 0) return { filter: 'flag', sql: 'flag' };
    if (roll === 1) return { filter: 'flag is not true', sql: 'flag IS DISTINCT FROM true' };
    if (roll === 2) return { filter: 'contains(list, 4)', sql: 'list_contains(list, 4)' };
    const column = random.pick(COLUMNS);
    const compared = column.compared ?? column.name;
    if (roll === 3) return { filter: `${column.name} is null`, sql: `${column.name} IS NULL` };
    if (roll < 6) return randomLike(random);
    if (roll < 12) {
      const members = Array.from({ length: 1 + random.below(14) }, () => this.#literal(random, column));
      const not = random.pick(['', '', ' not']);
      return {
        filter: `${column.name}${not} in (${members.map((m) => m.filter).join(', ')})`,
        sql: `${compared}${not} IN (${members.map((m) => m.sql).join(', ')})`,
      };
    }
    const [a, b] = [this.#literal(random, column), this.#literal(random, column)];
    if (roll < 14) {
      return {
        filter: `${column.name} between ${a.filter} and ${b.filter}`,
        sql: `${compared} BETWEEN ${a.sql} AND ${b.sql}`,
      };
    }
    const operator = random.pick(['=', '<>', '<', '<=', '>', '>=']);
    const other = random.pick(COLUMNS.filter(({ family }) => family === column.family));
    const right = random.chance(15) ? { filter: other.name, sql: other.compared ?? other.name } : a;
    return { filter: `${column.name} ${operator} ${right.filter}`, sql: `${compared} ${operator} ${right.sql}` };
  }

  #literal(random: Random, column: SourceColumn): Pair {
    if (random.chance(3)) return { filter: 'null', sql: 'NULL' };
    const text = random.pick(this.#texts.get(column.name) ?? []);
    return { filter: column.literal(text), sql: column.sql(text) };
  }
}

function randomLike(random: Random): Pair {
  const pattern = random.pick(['a%', '%b1%', '_2', '%😀%', 'É_', '%', '\uff5e%', 'a_', '%1_']);
  const word = random.pick(['like', 'ilike', 'not like']);
  return { filter: `name ${word} '${pattern}'`, sql: `name ${word} '${pattern}'` };
}

interface Sort {
  readonly sortBy: string;
  readonly orderBy: readonly string[];
}

function randomSort(random: Random): Sort {
  const keys = Array.from({ length: random.below(3) }, () => {
    const { name, compared } = random.pick(COLUMNS);
    const direction = random.pick(['asc', 'desc']);
    const nulls = random.pick(['first', 'last', '']);
    return {
      text: `${name} ${direction}${nulls === '' ? '' : ` nulls ${nulls}`}`,
      sql: `${compared ?? name} ${direction} NULLS ${nulls || 'last'}`,
    };
  });
  return { sortBy: keys.map(({ text }) => text).join(', '), orderBy: keys.map(({ sql }) => sql) };
}

test(`${CASES} random filters and sorts find what SQL finds in the rows of the file`, {
  timeout: 300_000 + CASES * 2000,
}, async (t) => {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: String(DIRECT_ROWS), QRS_READ_THREADS: '4' });
  const path = join(service.commandLine.directory, 'source.parquet');
  const source = await Source.make(path);
  const { id } = await service.publish(7, await readFile(path), { format: 'parquet', ...LAYOUT });
  for (let number = 0; number < CASES; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const { filter, sql } = source.randomFilter(random);
    const { sortBy, orderBy } = random.chance(60) ? { sortBy: '', orderBy: [] } : randomSort(random);
    const expected = await source.rows(sql, orderBy);
    const limit = Math.max(1, Math.ceil(expected.length / (1 + random.below(4))));
    const asked = new URLSearchParams({ filters: filter, sort_by: sortBy, columns: 'n', limit: String(limit) });
    const pages = await walk(service, `/v1/execution/${id}/results?${asked}`);
    const found = rowsOf(pages).map(({ n }) => Number(n));
    const at = found.findIndex((n, i) => n !== expected[i]);
    const about = `case ${number} of seed ${SEED}\n${filter}\n${sortBy}\n${sql}\n${orderBy}\nfrom row ${at}: ${found.slice(at, at + 5)} of ${found.length} for ${expected.slice(at, at + 5)} of ${expected.length}`;
    assert(at < 0 && found.length === expected.length, about);
  }
});
