/** Which columns the files of a source table have, by the names that are in them. */
import type { Row } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { readSchema, schemaStatement } from '../../duckdb/parquet-schema.ts';
import type { ParameterValue } from '../../duckdb/statement.ts';
import { EngineError, type SourceColumn } from '../engine.ts';
import type { SourceFiles } from './source-files.ts';
import {
  describePartitions,
  describeSource,
  type FoundColumn,
  firstLine,
  keysOfSource,
  objectsWithout,
  refuseOneTwice,
  severalMeant,
} from './source-view.ts';

export type Ask = (text: string, values?: readonly ParameterValue[]) => Promise<readonly Row[]>;

interface Source {
  readonly name: string;
  /** Undefined where no dataset declares the table. */
  readonly declared: readonly SourceColumn[] | undefined;
  readonly files: SourceFiles;
}

/** @throws EngineError wrong_source */
export async function columnsOfFiles(ask: Ask, source: Source, isRun: boolean): Promise<readonly FoundColumn[]> {
  const { declared, files } = source;
  const describe = async (text: string) =>
    (await ask(text)).map(([column, type]) => ({ name: String(column), type: String(type) }));
  const described = await describe(describeSource(files));
  if (files.format !== 'ndjson') return await withWrittenNames(ask, source, described);
  const isThere = (column: SourceColumn) => described.some((one) => isAlike(one.name, column.name));
  if (!isRun && declared?.every(isThere)) return described;
  const found = await ask(keysOfSource(files));
  // A file without a row does not say what its keys would be.
  if (found.length === 0) return declared?.map((column) => ({ name: column.name, type: 'VARCHAR' })) ?? described;
  const keys = found.flatMap(([key]) => (key === null ? [] : [String(key)]));
  for (const column of declared ?? []) await refuseTwoWritings(ask, source, column.name, keys);
  const partitions = (await describe(describePartitions(files)))
    .slice(1)
    .map((column) => ({ ...column, from: 'folder' as const }));
  const inFiles = keys.filter((key) => !partitions.some((column) => column.name === key));
  const columns = [...inFiles.map((key) => ({ name: key, type: 'VARCHAR', from: 'key' as const })), ...partitions];
  return declared === undefined && columns.length === 0 ? described : columns;
}

/** Of NDJSON: a key that some lines have in another case, which would be null in these. @throws EngineError wrong_source */
async function refuseTwoWritings(
  ask: Ask,
  { name, files }: Source,
  key: string,
  keys: readonly string[],
): Promise<void> {
  if (!keys.includes(key)) return;
  for (const other of keys.filter((one) => one !== key && isAlike(one, key))) {
    if ((await ask(objectsWithout(files, key, other))).length === 0) continue;
    const problem = `has ${JSON.stringify(key)} in some lines and ${JSON.stringify(other)} in others: rename one`;
    throw new EngineError('wrong_source', `source table ${name} ${problem}`);
  }
}

/** Of CSV and Parquet: what the file calls the columns to which DuckDB may have given other names. @throws EngineError wrong_source */
async function withWrittenNames(
  ask: Ask,
  { name, declared, files }: Source,
  described: readonly FoundColumn[],
): Promise<readonly FoundColumn[]> {
  const renamed = described.flatMap((column) => /^(.*)_[0-9]+$/s.exec(column.name)?.[1]?.toLowerCase() ?? []);
  const unsure = (declared ?? described).filter((column) => renamed.includes(column.name.toLowerCase()));
  if (unsure.length === 0) return described;
  for (const path of files.paths) {
    const names = await namesInFile(ask, files.format, path);
    if (declared === undefined) {
      // Of a column without a name, DuckDB makes up one.
      const named = names.filter((one) => one !== '');
      refuseOneTwice(name, named, 'columns');
      continue;
    }
    if (files.paths.length === 1) {
      return described.map((column, i) => ({ ...column, ...(names[i] !== undefined && { written: names[i] }) }));
    }
    for (const column of unsure) {
      const alike = names.filter((one) => isAlike(one, column.name));
      if (alike.length > 1) throw severalMeant(name, column.name, alike);
    }
  }
  return described;
}

async function namesInFile(ask: Ask, format: SourceFiles['format'], path: string): Promise<readonly string[]> {
  if (format === 'csv') return ((await ask(firstLine(path)))[0] ?? []).map((value) => String(value ?? ''));
  const { text, values } = schemaStatement(escapeGlob(path));
  return readSchema(await ask(text, values)).map((node) => node.name);
}

function isAlike(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
