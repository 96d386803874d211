/** Finds the line of a JSON file that DuckDB could not read: its own line numbers are one too high, or count records. */
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { hasNumberMark } from '../../../duckdb/exact-json.ts';
import { PublishError } from '../../publish-error.ts';
import { ENDS_EARLY, whyNotJson } from '../in-our-words.ts';
import type { SourceContext } from '../source.ts';
import type { BadFile } from './bad-line-thread.ts';
import { type JsonLayout, KEYS_UNKNOWN, MARKED, NO_OBJECT } from './json-relation.ts';

/** DuckDB's setting, by which it tells an object that is too large. */
const OBJECT_SIZE = 'maximum_object_size';
/** Nearly always the file is indented for people to read. */
const ONE_LINE_EACH = '; each line has one whole object, unless the file is one array of objects';

/** The error that names the line or the record, or `error` itself when it has another cause. */
export async function explainJson(
  error: Error,
  context: SourceContext,
  objects: string,
  layout: JsonLayout,
  signal: AbortSignal,
): Promise<Error> {
  const unit = layout === 'array' ? 'element' : 'line';
  if (error.message.includes(NO_OBJECT)) {
    const row = await firstRow(context, objects, `NOT starts_with(ltrim(json::VARCHAR, e' \\t\\r\\n'), '{')`, signal);
    return new PublishError(`${unit} ${row}: expected a JSON object`);
  }
  if (error.message.includes(KEYS_UNKNOWN)) {
    const twice = 'len(json_keys(json)) <> len(list_distinct(json_keys(json)))';
    const row = await firstRow(context, objects, twice, signal);
    if (row !== undefined) return new PublishError(`${unit} ${row}: the object has a key twice`);
  }
  if (error.message.includes(MARKED)) {
    const row = await firstRow(context, objects, hasNumberMark('json::VARCHAR'), signal);
    return new PublishError(
      `${unit} ${row}: the text holds U+FDD0, which is no character: beside a number with more digits than a double has it cannot be read; put the number in quotes, or leave U+FDD0 out`,
    );
  }
  if (!error.message.includes('Malformed JSON') && !error.message.includes(OBJECT_SIZE)) return error;
  const reason = whyNotJson(error.message);
  if (layout === 'array') {
    const place = /in (?:record\/value|line) ([0-9]+)/.exec(error.message)?.[1];
    const element = place === undefined ? '' : `near element ${Math.max(1, Number(place) - 1)}: `;
    return new PublishError(`${element}the JSON cannot be read: ${reason}`);
  }
  const line = await badLine({ path: context.file, isTooLong: error.message.includes(OBJECT_SIZE) }, signal);
  const place = line === undefined ? '' : `line ${line}: `;
  return new PublishError(`${place}the JSON cannot be read: ${reason}${reason === ENDS_EARLY ? ONE_LINE_EACH : ''}`);
}

async function firstRow(
  context: SourceContext,
  objects: string,
  condition: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const text = `SELECT n FROM (SELECT json, row_number() OVER () AS n FROM ${objects}) WHERE ${condition} LIMIT 1`;
  const [row] = await context.duckDb.query({ text, values: [context.path] }, signal);
  return row === undefined ? undefined : Number(row[0]);
}

// As this file is: TypeScript in a checkout, JavaScript in a package.
const BAD_LINE_THREAD = new URL(`./bad-line-thread${extname(import.meta.url)}`, import.meta.url);

/** Reads the file once more, line by line; only ever done for a file that is refused. */
async function badLine(file: BadFile, signal: AbortSignal): Promise<number | undefined> {
  const thread = new Worker(BAD_LINE_THREAD, { workerData: file });
  try {
    const [found] = await once(thread, 'message', { signal });
    return found;
  } finally {
    await thread.terminate();
  }
}
