/**
 * The examples of docs/reference/filters.md, run against the demo's data. Below each stands what it finds, in the page itself:
 * `UPDATE_GOLDEN=1` writes it anew.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Column } from '../../src/domain/result-set.ts';
import { DuckDb, type Row } from '../../src/duckdb/duckdb.ts';
import { Parameters } from '../../src/duckdb/parameters.ts';
import { quoteName, quoteText } from '../../src/duckdb/quoting.ts';
import { storageType, storedColumn } from '../../src/duckdb/storage-type.ts';
import { parseFilter } from '../../src/expression/parse-filter.ts';
import { parseSort } from '../../src/expression/parse-sort.ts';
import { compilePredicate } from '../../src/results/compile/predicate.ts';
import { compileSortKeys } from '../../src/results/compile/sort.ts';
import { bindFilter } from '../../src/results/plan/bind-filter.ts';
import { bindSort } from '../../src/results/plan/bind-sort.ts';
import { DEFAULT_EXPRESSION_LIMITS } from '../expression-text.ts';
import { sleep } from '../real-time.ts';

const PAGE = new URL('../../docs/reference/filters.md', import.meta.url);
const DATA = fileURLToPath(new URL('../../node_modules/vega-datasets/data/', import.meta.url));

interface Source {
  readonly file: string;
  readonly columns: readonly Column[];
}

const SOURCES: Readonly<Record<string, Source>> = {
  flights: source('flights-3m.parquet', {
    date: 'timestamp(6)',
    delay: 'bigint',
    distance: 'bigint',
    origin: 'varchar',
    destination: 'varchar',
  }),
  airports: source('airports.csv', {
    iata: 'varchar',
    name: 'varchar',
    city: 'varchar',
    state: 'varchar',
    country: 'varchar',
    latitude: 'double',
    longitude: 'double',
  }),
  movies: source('movies.json', {
    Title: 'varchar',
    'US Gross': 'bigint',
    'Worldwide Gross': 'bigint',
    'MPAA Rating': 'varchar',
    'IMDB Rating': 'decimal(3, 1)',
  }),
};

function source(file: string, types: Readonly<Record<string, string>>): Source {
  return { file, columns: Object.entries(types).map(([name, type]) => ({ name, type: parseColumnType(type) })) };
}

let duckDb: DuckDb;

before(async () => {
  duckDb = await DuckDb.open({
    threads: 2,
    memoryLimit: '512MB',
    tempDirectory: DATA,
    tempSizeMax: '0B',
    sleep,
    allowedDirectories: [DATA],
  });
});

after(() => duckDb[Symbol.asyncDispose]());

test('the examples find what the page says they find', async () => {
  const page = readFileSync(PAGE, 'utf8');
  let rewritten = '';
  let end = 0;
  for (const block of page.matchAll(/^```(filters|sort_by)\n(.*?)^```\n/gms)) {
    const [whole, parameter = '', body = ''] = block;
    const lines: string[] = [];
    for (const example of body.split('\n').filter((line) => line !== '' && !line.startsWith('→'))) {
      lines.push(example, `→ ${await answerTo(parameter, example)}`);
    }
    rewritten += `${page.slice(end, block.index)}\`\`\`${parameter}\n${lines.join('\n')}\n\`\`\`\n`;
    end = block.index + whole.length;
  }
  rewritten += page.slice(end);
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PAGE, rewritten);
  else assert.equal(page, rewritten);
});

async function answerTo(parameter: string, example: string): Promise<string> {
  const [, name = '', expression = ''] = /^(\w+): (.*)$/.exec(example) ?? [];
  const from = SOURCES[name];
  assert.ok(from !== undefined, `no such data: ${example}`);
  const columns = from.columns.map(({ name: column, type }, index) => {
    const value = column === 'Title' ? `json_extract_string(${quoteName(column)}, '$')` : quoteName(column);
    return `${value}::${storageType(type)} AS ${storedColumn(index)}`;
  });
  const table = `(SELECT ${columns.join(', ')} FROM ${quoteText(DATA + from.file)})`;
  const parameters = new Parameters();
  if (parameter === 'filters') {
    const where = compilePredicate(
      bindFilter(parseFilter(expression, DEFAULT_EXPRESSION_LIMITS), from.columns),
      parameters,
    );
    const [[count] = []] = await query(`SELECT count(*) FROM ${table} WHERE ${where}`, parameters);
    return count === 1n ? '1 row' : `${Number(count).toLocaleString('en-US')} rows`;
  }
  const keys = compileSortKeys(bindSort(parseSort(expression, DEFAULT_EXPRESSION_LIMITS), from.columns));
  const firstRows = await query(`SELECT c0 FROM ${table} ORDER BY ${keys.join(', ')} LIMIT 3`, parameters);
  return `${firstRows.map(([first]) => String(first)).join(', ')}, …`;
}

function query(text: string, parameters: Parameters): Promise<readonly Row[]> {
  return duckDb.query({ text, values: parameters.values }, new AbortController().signal);
}
