/**
 * A CSV file as a source: RFC 4180, a header line, UTF-8. An empty field is null, a quoted empty one is the empty string.
 * Types are inferred (inference.ts) unless declared.
 */
import { mapInTurns } from '../../../domain/in-turns.ts';
import { quoteText } from '../../../duckdb/quoting.ts';
import { PublishError } from '../../publish-error.ts';
import { opened, type Source, type SourceContext } from '../source.ts';
import { collectColumnStats, textColumn } from '../text-columns.ts';
import { type CheckedCsv, checkCsv, ROW_BYTES_MAX, TOO_LONG } from './csv-check.ts';
import { notUtf8, readCsvHeader } from './csv-header.ts';

/** @throws PublishError when the header cannot be used. */
export async function openCsv(context: SourceContext, signal: AbortSignal): Promise<Source> {
  const { delimiter, names } = await readCsvHeader(context.file, context.delimiter);
  const columns = names.map((_, i) => `s${i}: 'VARCHAR'`).join(', ');
  const options = [
    'auto_detect = false',
    `columns = {${columns}}`,
    'header = true',
    `delim = ${quoteText(delimiter)}`,
    `quote = '"'`,
    `escape = '"'`,
    `nullstr = ''`,
    'allow_quoted_nulls = false',
    'strict_mode = true',
    `compression = 'none'`,
    // A folder named s0=abc would put abc in the place of the first column.
    'hive_partitioning = false',
    `max_line_size = ${ROW_BYTES_MAX}`,
    `buffer_size = ${2 * ROW_BYTES_MAX}`,
  ];
  const check = async (during: AbortSignal) => await checkCsv(context.file, delimiter, names.length, during);
  return await build(context, { names, relation: `read_csv($1, ${options.join(', ')})`, check }, false, signal);
}

interface CsvFile {
  readonly names: readonly string[];
  readonly relation: string;
  /** Holds the whole file against RFC 4180. */
  readonly check: (signal: AbortSignal) => Promise<CheckedCsv>;
}

async function build(context: SourceContext, file: CsvFile, everyRow: boolean, signal: AbortSignal): Promise<Source> {
  const { names, relation, check } = file;
  const base = { relation, path: context.path };
  const explain: Source['explain'] = (error, s) => explainCsv(error, check, s);
  const open = async (): Promise<Source> => {
    const columnStats = await collectColumnStats(context, base, names, everyRow, signal);
    return {
      ...base,
      columns: await mapInTurns(names, (name, i) => textColumn(name, i, context.types.get(name), columnStats[i])),
      check: async (s) => (await check(s)).rows,
      widen: (s) => build(context, file, true, s),
      explain,
    };
  };
  return await opened(open, explain, signal);
}

/** DuckDB's own words only for what the check lets pass: its line numbers are off after a field of several lines. */
async function explainCsv(error: Error, check: CsvFile['check'], signal: AbortSignal): Promise<Error> {
  let endsDiffer = false;
  try {
    endsDiffer = (await check(signal)).endsDiffer;
  } catch (found) {
    signal.throwIfAborted();
    if (found instanceof PublishError) return found;
  }
  const line = /CSV Error on Line: ([0-9]+)/.exec(error.message)?.[1];
  const where = line === undefined ? '' : `line ${line}: `;
  if (/Invalid unicode|not utf-8/i.test(error.message)) return notUtf8(where);
  if (/maximum_line_size|Maximum line size/i.test(error.message)) {
    return new PublishError(`${where}${TOO_LONG}`);
  }
  if (/invalid state/.test(error.message) || (endsDiffer && line !== undefined)) {
    return new PublishError('the file is not CSV by RFC 4180: its lines end in two ways');
  }
  return line === undefined ? error : new PublishError(`${where}the row cannot be read`, { cause: error });
}
