/**
 * Results over HTTP, under the worst that clients and networks do: either all rows that were sent are there, exactly, or nothing has
 * changed; and nothing is left in staging, whatever ended an upload. Several are sent at the same time.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { startFolderDuckDb } from './folder-duckdb.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites } from './http-writer.ts';

const CASES = Number(process.env.TEST_CASES ?? 25);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

type Row = { readonly n: number; readonly name: string; readonly amount: number | null };
const FORMATS = ['csv', 'ndjson', 'json', 'parquet'] as const;
type Format = (typeof FORMATS)[number];
const TYPES: Readonly<Record<Format, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  json: 'application/octet-stream',
  parquet: 'application/vnd.apache.parquet',
};
/** What goes wrong. `wrongLength`: the head announces fewer bytes than come. `longLength`: more than ever come. */
const FAULTS = ['none', 'cut', 'digest', 'wrongLength', 'longLength', 'type', 'dies', 'twice'] as const;

interface Upload {
  readonly rows: readonly Row[];
  readonly format: Format;
  readonly compression: 'gzip' | 'zstd' | undefined;
  readonly fault: (typeof FAULTS)[number];
  /** Where it happens, as a part of the body. */
  readonly at: number;
  readonly withDigest: boolean;
}

const upload: fc.Arbitrary<Upload> = fc.record({
  rows: fc
    .array(
      fc.record({
        name: fc.oneof(
          fc.constantFrom('', 'a,b', '"', "it's", 'line\nend', '😀', '007', 'NULL', '{"a":1'),
          fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replaceAll(/[\0\r]/g, '')),
        ),
        amount: fc.option(fc.integer({ min: -1_000_000, max: 1_000_000 }).map((n) => n / 8)),
      }),
      { minLength: 1, maxLength: 40 },
    )
    // The first has a name that is text and an amount that is none of an integer's, so that the types are the same in each format.
    .map((rows) => [{ name: 'first', amount: 0.5 }, ...rows].map((row, n) => ({ n, ...row }))),
  format: fc.constantFrom(...FORMATS),
  compression: fc.constantFrom(undefined, 'gzip', 'zstd'),
  fault: fc.constantFrom(...FAULTS),
  withDigest: fc.boolean(),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
});

async function encode({ rows, format }: Upload, folder: string, duckDb: DuckDb): Promise<Buffer> {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
  switch (format) {
    case 'csv':
      return Buffer.from(
        `n,name,amount\n${rows.map(({ n, name, amount }) => `${n},${quoted(name)},${amount ?? ''}\n`).join('')}`,
      );
    case 'ndjson':
      return Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    case 'json':
      return Buffer.from(JSON.stringify(rows, undefined, 1));
    case 'parquet': {
      const path = join(folder, `${crypto.randomUUID()}.parquet`);
      const list = `from_json($1, '[{"n":"BIGINT","name":"VARCHAR","amount":"DOUBLE"}]')`;
      const text = `COPY (SELECT unnest(${list}, max_depth := 2)) TO '${path}' (FORMAT parquet)`;
      await duckDb.query({ text, values: [JSON.stringify(rows)] }, new AbortController().signal);
      return await readFile(path);
    }
    default:
      return format satisfies never;
  }
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly id: unknown;
}

interface Sending {
  readonly url: URL;
  readonly head: readonly string[];
  /** What is sent of the body. */
  readonly body: Buffer;
  /** The client is gone when it has sent that. */
  readonly dies: boolean;
  /** It sends no more, and waits for an answer. */
  readonly ends: boolean;
}

/** @returns undefined where there was no answer */
async function send({ url, head, body, dies, ends }: Sending): Promise<Answer | undefined> {
  const socket = connect(Number(url.port), url.hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise<void>((resolve) => {
    socket.write(body, () => resolve());
    socket.once('close', resolve);
  });
  if (dies) socket.destroy();
  else if (ends) socket.end();
  await closed;
  const [headers = '', text = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
  const status = /^HTTP\/1\.1 ([0-9]{3})/.exec(headers)?.[1];
  if (status === undefined) return undefined;
  const code = /^x-error-code: (.*)$/im.exec(headers)?.[1];
  return { status: Number(status), code, id: status === '201' ? JSON.parse(text).execution_id : undefined };
}

interface World {
  readonly service: HttpService;
  readonly key: string;
  readonly folder: string;
  readonly duckDb: DuckDb;
}

interface Outcome {
  readonly upload: Upload;
  readonly answers: readonly (Answer | undefined)[];
  /** Whether a result may be there of which the client was told nothing. */
  readonly unknown: boolean;
}

async function publish(upload: Upload, { service, key, folder, duckDb }: World): Promise<Outcome> {
  const plain = await encode(upload, folder, duckDb);
  const { compression, fault, format, at, withDigest } = upload;
  const whole = compression === 'gzip' ? gzipSync(plain) : compression === 'zstd' ? zstdCompressSync(plain) : plain;
  const until = Math.floor(at * (fault === 'dies' ? whole.length : whole.length - 1));
  const url = new URL(service.url);
  // A text may be cut between two rows, which only its digest tells.
  const needsDigest = fault === 'digest' || fault === 'cut' || fault === 'wrongLength';
  const digest = `sha-256=:${createHash('sha256')
    .update(fault === 'digest' ? 'other' : whole)
    .digest('base64')}:`;
  const wrong = TYPES[format === 'parquet' ? 'ndjson' : 'parquet'];
  const lengthOf = { cut: until, wrongLength: until, longLength: whole.length + 1 + until } as const;
  const length = fault in lengthOf ? lengthOf[fault as keyof typeof lengthOf] : whole.length;
  const head = [
    'POST /v1/query/7/results HTTP/1.1',
    `host: ${url.host}`,
    `x-service-api-key: ${key}`,
    'connection: close',
    `content-length: ${length}`,
    `content-type: ${fault === 'type' ? wrong : TYPES[format]}`,
    ...(withDigest || needsDigest ? [`content-digest: ${digest}`] : []),
    ...(compression === undefined ? [] : [`content-encoding: ${compression}`]),
    ...(fault === 'twice' ? [`idempotency-key: ${crypto.randomUUID()}`] : []),
  ];
  const isShort = fault === 'dies' || fault === 'cut';
  const body = isShort ? whole.subarray(0, until) : whole;
  const sending = { url, head, body, dies: fault === 'dies', ends: fault === 'longLength' };
  const count = fault === 'twice' ? 3 : 1;
  const answers = await Promise.all(Array.from({ length: count }, () => send(sending)));
  if (fault === 'twice') answers.push(await send(sending));
  return { upload, answers, unknown: fault === 'dies' && until === whole.length };
}

/** Resolves when nothing is staged and nobody writes. */
async function untilQuiet({ service }: World): Promise<void> {
  const { leases } = await service.catalog();
  for (;;) {
    // Where results go to S3 the folder is made by the first that is staged.
    const left = await readdir(service.staging).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return [];
    });
    const writing = await leases.list('write:');
    if (left.length === 0 && writing.length === 0) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function idsOf({ service }: World): Promise<ReadonlySet<string>> {
  const { executions } = await service.catalog();
  return new Set((await executions.list({ queryId: 7, limit: 10_000 })).map(({ id }) => id));
}

async function rowsOf({ service }: World, id: string): Promise<unknown> {
  const { result } = await service.json(`/v1/execution/${id}/results`);
  return (result as { readonly rows: unknown }).rows;
}

/** @returns the id of the result that there must be */
function check({ upload: { fault }, answers }: Outcome): string | undefined {
  const said = `${fault}: ${JSON.stringify(answers)}`;
  const [answer] = answers;
  switch (fault) {
    case 'none':
      assert.equal(answer?.status, 201, said);
      return String(answer?.id);
    case 'twice': {
      const last = answers.at(-1);
      assert.equal(last?.status, 201, said);
      for (const other of answers) {
        if (other?.code === 'idempotency_in_progress') continue;
        assert.deepEqual([other?.status, other?.id], [201, last?.id], said);
      }
      return String(last?.id);
    }
    case 'digest':
    case 'cut':
      assert.ok(answer !== undefined && answer.status >= 400 && answer.status < 500, said);
      return undefined;
    case 'wrongLength':
      // What comes behind the body is no request: the connection may be gone before the answer is read.
      assert.ok(answer === undefined || (answer.status >= 400 && answer.status < 500), said);
      return undefined;
    case 'type':
      assert.deepEqual([answer?.status, answer?.code], [400, 'invalid_result'], said);
      return undefined;
    case 'longLength':
    case 'dies':
      assert.notEqual(answer?.status, 201, said);
      return undefined;
    default:
      return fault satisfies never;
  }
}

test(`an upload is all there or nothing has changed (${CASES} cases of up to four at a time)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const { duckDb, folder } = await startFolderDuckDb(t, 1);
  const service = await startHttpService(t, { QRS_UPLOADS_RUNNING: '2' });
  await service.commandLine.get('queries', 'add', '--id', '7', '--user', 'ann');
  const { key } = await annWrites(service);
  const world = { service, key, folder, duckDb };
  await fc.assert(
    fc.asyncProperty(fc.array(upload, { minLength: 1, maxLength: 4 }), async (uploads) => {
      const before = await idsOf(world);
      const outcomes = await Promise.all(uploads.map((each) => publish(each, world)));
      await untilQuiet(world);
      const added = [...(await idsOf(world)).difference(before)];
      const expected = new Map<string, readonly Row[]>();
      for (const outcome of outcomes) {
        const id = check(outcome);
        if (id !== undefined) expected.set(id, outcome.upload.rows);
      }
      const told = added.filter((id) => expected.has(id));
      assert.deepEqual(told.toSorted(), [...expected.keys()].toSorted());
      for (const [id, rows] of expected) assert.deepEqual(await rowsOf(world, id), rows);
      const untold = await Promise.all(added.filter((id) => !expected.has(id)).map((id) => rowsOf(world, id)));
      const possible = outcomes.filter(({ unknown }) => unknown).map((outcome) => outcome.upload.rows);
      for (const rows of untold) {
        const index = possible.findIndex((sent) => JSON.stringify(sent) === JSON.stringify(rows));
        assert.notEqual(index, -1, `rows that nobody sent whole: ${JSON.stringify(rows)}`);
        possible.splice(index, 1);
      }
    }),
    { numRuns: CASES, seed: SEED },
  );
  assert.deepEqual(service.faults, []);
});
