import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptedFormat } from './accept-format.ts';

const CASES: readonly (readonly [string | undefined, string])[] = [
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['Application/X-NDJSON', 'ndjson'],
  ['text/csv', 'csv'],
  ['text/*', 'csv'],
  ['application/*', 'json'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['application/json, text/plain, */*', 'json'],
  ['application/x-ndjson, */*', 'ndjson'],
  ['application/json, application/x-ndjson', 'json'],
  ['application/x-ndjson, application/json', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['application/x-parquet', 'parquet'],
  ['text/csv; charset=utf-8', 'csv'],
  ['text/csv; charset=UTF-8; header=present', 'json'],
  ['application/json;q=0.5, application/x-ndjson', 'ndjson'],
  ['application/vnd.apache.parquet;q=0.9, application/x-ndjson ; q=0.8, */*;q=0.1', 'parquet'],
  ['application/json;q=0, */*', 'ndjson'],
  ['application/x-ndjson;q=0', 'json'],
  ['application/x-ndjson;q=much', 'json'],
  ['application/json; charset=utf-8', 'json'],
  // What a browser sends.
  ['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8', 'json'],
  ['image/png', 'json'],
  [',;,q=1', 'json'],
];

for (const [header, format] of CASES) {
  test(`Accept: ${header ?? '(none)'} → ${format}`, () => {
    assert.equal(acceptedFormat(header), format);
  });
}
