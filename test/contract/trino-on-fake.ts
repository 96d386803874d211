/** The engine on a coordinator that a test drives (fake-coordinator.ts): what its answers are made of, and what comes of a query. */
import assert from 'node:assert/strict';
import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import type { ParameterValue } from '../../src/domain/parameter-values.ts';
import type { Sleep } from '../../src/domain/time.ts';
import { EngineError } from '../../src/engine/engine.ts';
import { TrinoEngine, type TrinoEngineOptions } from '../../src/engine/trino/trino-engine.ts';
import { FakeTime } from '../fake-time.ts';
import type { FakeCoordinator, Step } from './fake-coordinator.ts';
import { readParquetTexts } from './read-parquet-rows.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-trino-'));
after(() => rm(root, { recursive: true, force: true }));
let files = 0;

export function nextPath(): string {
  return join(root, `${++files}.parquet`);
}

/** Pauses between tries take no time; limits never come. */
export const hurried: Sleep = (millis, signal) =>
  millis <= 5000 && millis !== 3000 ? Promise.resolve() : new FakeTime(0).sleep(millis, signal);

export const ADDRESS = {
  user: 'qrs',
  password: 's3cret',
  token: undefined,
  catalog: 'lake',
  schema: undefined,
  certificates: undefined,
};

export function engineOn(fake: FakeCoordinator, more: Partial<TrinoEngineOptions> = {}): TrinoEngine {
  return new TrinoEngine({
    address: { ...ADDRESS, origin: fake.origin },
    threads: 2,
    memoryBytes: 256_000_000,
    tempDirectory: join(root, 'temp'),
    tempBytesMax: 0,
    resultBytesMax: 1e9,
    timeLimitMillis: 60_000,
    queryMemoryBytes: 128_000_000,
    sleep: hurried,
    ...more,
  });
}

export const json = (value: Readonly<Record<string, unknown>>): Step => ({
  kind: 'json',
  value: { id: 'q1', stats: {}, ...value },
});
export const text = (value: string): Step => ({ kind: 'text', text: value });

/** A column as the coordinator describes it, of a type with numbers for arguments. */
export function column(name: string, rawType: string, ...args: readonly unknown[]) {
  return { name, type: rawType, typeSignature: signature(rawType, ...args) };
}

export function signature(rawType: string, ...args: readonly unknown[]) {
  return { rawType, arguments: args.map((value) => ({ kind: typeof value === 'number' ? 'LONG' : 'TYPE', value })) };
}

export interface Run {
  readonly sql?: string;
  readonly parameters?: readonly ParameterValue[];
  readonly signal?: AbortSignal;
  readonly options?: Partial<TrinoEngineOptions>;
}

export async function materialize(fake: FakeCoordinator, { sql = 'SELECT 1', parameters, signal, options }: Run = {}) {
  await using engine = engineOn(fake, options);
  const path = join(root, `${++files}.parquet`);
  const query = { sql, sources: [], ...(parameters && { parameters }) };
  const made = await engine.materialize(query, path, signal ?? new AbortController().signal);
  const columns = made.columns.map(({ name, type }) => `${name} ${formatColumnType(type)}`);
  return { columns, rowCount: made.rowCount, rows: await readParquetTexts(path) };
}

/** The error, after it is made sure that nothing is left behind and that no secret is told. */
export async function failure(fake: FakeCoordinator, run: Run = {}): Promise<EngineError> {
  const error = await materialize(fake, run).then(
    () => assert.fail('the query was expected to fail'),
    (e: unknown) => e,
  );
  assert.ok(error instanceof EngineError, String((error as Error).stack));
  await assert.rejects(access(join(root, `${files}.parquet`)), 'a failed query leaves no file');
  assert.deepEqual(await readdir(join(root, 'temp')).catch(() => []), []);
  for (let e: unknown = error; e instanceof Error; e = e.cause) assert.doesNotMatch(e.message, /s3cret|czNjcmV0/);
  return error;
}
