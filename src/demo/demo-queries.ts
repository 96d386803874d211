/**
 * The demo's queries: real data that comes with the npm package `vega-datasets` (a development dependency), published as it
 * is, with some types declared to show variety.
 */
import { type ColumnType, parseColumnType } from '../domain/column-type.ts';

export interface DemoQuery {
  readonly id: number;
  readonly name: string;
  /** A file of the package's `data` folder. */
  readonly file: string;
  readonly format: 'parquet' | 'csv' | 'ndjson';
  readonly types: ReadonlyMap<string, ColumnType>;
}

export const DEMO_QUERIES: readonly DemoQuery[] = [
  query(1, 'Flights in the United States, first half of 2001', 'flights-3m.parquet', 'parquet', {}),
  query(2, 'Airports of the United States', 'airports.csv', 'csv', {}),
  query(3, 'Movies, their money and their ratings', 'movies.json', 'ndjson', {
    Title: 'varchar',
    'IMDB Rating': 'decimal(3, 1)',
  }),
  query(4, 'Birds that hit aircraft', 'birdstrikes.csv', 'csv', { 'Cost Total $': 'decimal(18, 2)' }),
  query(5, 'S&P 500, daily since 2000', 'sp500-2000.csv', 'csv', {
    date: 'timestamp(3) with time zone',
    volume: 'uint256',
  }),
  query(6, 'Postal codes of the United States', 'zipcodes.csv', 'csv', { latitude: 'real', longitude: 'real' }),
];

function query(
  id: number,
  name: string,
  file: string,
  format: DemoQuery['format'],
  types: Readonly<Record<string, string>>,
): DemoQuery {
  const parsed = new Map(Object.entries(types).map(([column, type]) => [column, parseColumnType(type)]));
  return { id, name, file, format, types: parsed };
}
