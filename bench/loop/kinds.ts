/** Kinds of requests for results, each as heavy as the limits allow. What is asked for changes with each turn. */
import { ROW_COLUMNS } from '../service.ts';
import { type LoopData, ROWS, WIDE_COLUMNS } from './data.ts';

/** One request, or several at the same time. */
export interface Kind {
  readonly name: string;
  readonly ask: (client: LoopClient, turn: number) => Promise<unknown>;
  /** How often, at most; there is a limit of time, too. */
  readonly times?: number;
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string | Buffer;
  /** Go away after so many bytes. */
  readonly bytesMax?: number;
}

export interface LoopClient {
  /** @returns the status; the body is read and thrown away */
  ask(path: string, asked?: Asked): Promise<number>;
}

const FREE = 'ignore_max_datapoints_per_request=true';

const q = encodeURIComponent;

export function resultKinds(data: LoopData): readonly Kind[] {
  const at = (id: string) => `/v1/execution/${id}/results`;
  const get = (name: string, path: (turn: number) => string, asked: Asked = {}, times = 12): Kind => ({
    name,
    times,
    ask: (client, turn) => client.ask(path(turn), asked),
  });
  const somewhere = (turn: number) => (turn * 618_033) % (ROWS - 30_000);
  const page = (turn: number) => `${at(data.rows)}?limit=25000&offset=${somewhere(turn)}`;
  const accept = (coding: string) => ({ headers: { 'accept-encoding': coding } });
  const wideNames = (turn: number) =>
    Array.from({ length: 4500 }, (_, n) => `col_${(n * 7 + turn) % WIDE_COLUMNS}`).join(',');
  const filter = (text: string) => `filters=${q(text)}`;
  return [
    get('full page, JSON', page, {}, 30),
    get('full page, CSV', (turn) => `${page(turn)}&format=csv`),
    get('full page, NDJSON', (turn) => `${page(turn)}&format=ndjson`),
    get('full page, Parquet', (turn) => `${page(turn)}&format=parquet`, {}, 4),
    ...['gzip', 'br', 'zstd'].map((coding) => get(`full page, ${coding}`, page, accept(coding))),
    get('full page, columns turned around', (turn) => `${page(turn)}&columns=${ROW_COLUMNS.toReversed().join(',')}`),
    get('250,000 rows in one page', (turn) => `${at(data.rows)}?limit=250000&offset=${turn * 1000}&${FREE}`, {}, 4),
    get(
      '250,000 rows in one page, gzip',
      (turn) => `${at(data.rows)}?limit=250000&offset=${turn * 1000}&${FREE}`,
      accept('gzip'),
      2,
    ),
    get('1,000 rows anywhere', (turn) => `${at(data.rows)}?limit=1000&offset=${somewhere(turn)}`, {}, 200),
    get('export, JSON', () => `${at(data.rows)}?${FREE}`, {}, 2),
    get('export, CSV', () => `${at(data.rows)}/csv?${FREE}`, {}, 2),
    get('export, Parquet', (turn) => `${at(data.rows)}?${FREE}&format=parquet&limit=${ROWS - turn}`, {}, 2),
    get('the end of an export', () => `${at(data.rows)}/csv?${FREE}`, { headers: { range: 'bytes=-1000' } }, 6),
    get('export that nobody reads on', () => `${at(data.rows)}?${FREE}`, { bytesMax: 1_000_000 }, 10),
    get('a sample of 25,000', () => `${at(data.rows)}?sample_count=25000`, {}, 6),
    get('a sample of 250,000', () => `${at(data.rows)}?sample_count=250000&${FREE}`, {}, 2),
    get('1,000 terms with or', (turn) => `${at(data.rows)}?limit=100&${filter(terms(turn, ' or '))}`, {}, 4),
    get('1,000 terms with and', (turn) => `${at(data.rows)}?limit=100&${filter(terms(turn, ' and '))}`, {}, 4),
    get('a filter 50 deep', (turn) => `${at(data.rows)}?limit=100&${filter(deep(turn))}`, {}, 4),
    get('1,000 values of an indexed column', (turn) => `${at(data.rows)}?limit=1000&${filter(values(turn))}`, {}, 30),
    get('1,000 values not to be', (turn) => `${at(data.rows)}?limit=1000&${filter(`not (${values(turn)})`)}`, {}, 6),
    get('many ors over indexes', (turn) => `${at(data.rows)}?limit=1000&${filter(equals(turn))}`, {}, 12),
    get(
      'a like as long as may be',
      (turn) => `${at(data.rows)}?limit=10&${filter(`user_name like '%${'a_%'.repeat(6000)}${turn}'`)}`,
      {},
      3,
    ),
    get('a filter that cannot be read', (turn) => `${at(data.rows)}?${filter(`${'('.repeat(19_000)}${turn}`)}`, {}, 6),
    get(
      'between, sorted by an indexed column',
      (turn) =>
        `${at(data.rows)}?limit=1000&${filter(`gas_used between ${turn * 1000} and ${turn * 1000 + 900}`)}&sort_by=${q('amount_usd desc')}`,
      {},
      20,
    ),
    get(
      'a sorted page deep down',
      (turn) => `${at(data.rows)}?limit=1000&offset=${turn * 20_000}&sort_by=${q('score desc')}`,
      {},
      8,
    ),
    get('search', (turn) => `${at(data.rows)}?limit=100&search=${q(`pair ${turn}`)}`, {}, 4),
    get('count=exact', (turn) => `${at(data.rows)}?limit=10&count=exact&${filter(`gas_used > ${turn * 1000}`)}`, {}, 4),
    get('statistics', () => `/v1/execution/${data.rows}/statistics`, {}, 3),
    get(
      'difference of 100,000 rows',
      (turn) => `/v1/execution/${data.changed}/diff/${data.hundredThousand}?key=id&limit=1000&offset=${turn}`,
      {},
      3,
    ),
    get('wide: 50 rows', (turn) => `${at(data.wide)}?limit=50&offset=${turn}`, {}, 12),
    get('wide: 50 rows, CSV', (turn) => `${at(data.wide)}/csv?limit=50&offset=${turn}`, {}, 8),
    get(
      'wide: 50 rows, NDJSON, gzip',
      (turn) => `${at(data.wide)}?limit=50&offset=${turn}&format=ndjson`,
      accept('gzip'),
      8,
    ),
    get('wide: Parquet', (turn) => `${at(data.wide)}?limit=${50 - turn}&format=parquet`, {}, 3),
    get('wide: limit=0', (turn) => `${at(data.wide)}?limit=0&offset=${turn}`, {}, 20),
    get('wide: 4,500 columns named', (turn) => `${at(data.wide)}?limit=10&columns=${q(wideNames(turn))}`, {}, 8),
    get(
      'wide: 4,500 columns that are not there',
      (turn) => `${at(data.wide)}?columns=${q(wideNames(turn).replaceAll('col', 'cols'))}`,
      {},
      4,
    ),
    get(
      'wide: sorted by 900 columns',
      (turn) =>
        `${at(data.wide)}?limit=${10 + turn}&sort_by=${q(Array.from({ length: 900 }, (_, n) => `col_${n * 5}`).join(','))}`,
      {},
      4,
    ),
    get(
      'wide: filter of 1,000 columns',
      (turn) =>
        `${at(data.wide)}?limit=${10 + turn}&${filter(Array.from({ length: 1000 }, (_, n) => `col_${n * 5} >= 0`).join(' and '))}`,
      {},
      4,
    ),
    get('wide: search', (turn) => `${at(data.wide)}?limit=10&search=w${turn}`, {}, 4),
    get('wide: statistics', () => `/v1/execution/${data.wide}/statistics`, {}, 3),
    get('wide: status', () => `/v1/execution/${data.wide}/status`, {}, 20),
    get('wide: what the query is', () => '/v1/query/4', {}, 20),
    get('wide: HEAD', (turn) => `${at(data.wide)}?limit=50&offset=${turn}`, { method: 'HEAD' }, 20),
    get('texts of 2 MB: all', (turn) => `${at(data.bigTexts)}?${FREE}&limit=${50 - turn}`, {}, 4),
    get('texts of 2 MB: one', (turn) => `${at(data.bigTexts)}?${FREE}&limit=1&offset=${turn}`, {}, 20),
    get('texts of 2 MB: one, br', (turn) => `${at(data.bigTexts)}?${FREE}&limit=1&offset=${turn}`, accept('br'), 12),
    get(
      'texts of 2 MB: filter',
      (turn) => `${at(data.bigTexts)}?${FREE}&limit=1&${filter(`text like '%${turn}'`)}`,
      {},
      4,
    ),
    get('texts of 2 MB: statistics', () => `/v1/execution/${data.bigTexts}/statistics`, {}, 2),
    get('a row of 100 MB, JSON', () => `${at(data.oneRow)}?${FREE}`, {}, 2),
    get('a row of 100 MB, CSV, gzip', () => `${at(data.oneRow)}/csv?${FREE}`, accept('gzip'), 1),
    get('a row of 100 MB, Parquet', () => `${at(data.oneRow)}?${FREE}&format=parquet`, {}, 2),
    get('lists of 20,000: all', (turn) => `${at(data.lists)}?${FREE}&limit=${100 - turn}`, {}, 4),
    get('lists of 20,000: CSV', (turn) => `${at(data.lists)}/csv?${FREE}&limit=${100 - turn}`, {}, 3),
    get(
      'lists of 20,000: contains',
      (turn) => `${at(data.lists)}?${FREE}&limit=2&${filter(`contains(numbers, ${turn + 7})`)}`,
      {},
      4,
    ),
  ];
}

/** As many comparisons as a filter may have in as many characters. */
function terms(turn: number, joined: string): string {
  return Array.from({ length: 1000 }, (_, n) => `id!=${turn * 1000 + n}`).join(joined);
}

function deep(turn: number): string {
  return `${'(not '.repeat(24)}id > ${turn}${')'.repeat(24)}`;
}

function values(turn: number): string {
  return `id in (${Array.from({ length: 1000 }, (_, n) => (turn * 7919 + n * 613) % ROWS).join(',')})`;
}

function equals(turn: number): string {
  return Array.from(
    { length: 400 },
    (_, n) => `id=${(turn * 7919 + n * 613) % ROWS} or gas_used=${turn * 400 + n}`,
  ).join(' or ');
}
