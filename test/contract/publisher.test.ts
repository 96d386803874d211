/** What every publisher must do, whatever it stands on: the data directory, or a running service over HTTP. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { suite, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { IllegalTransition, openPublisher, PublishError, type Publisher } from '../../src/publisher.ts';
import { type HttpService, startHttpService } from '../feature/http-service.ts';
import { sender } from '../feature/http-writer.ts';

interface World {
  readonly publisher: Publisher;
  /** The service that shows what was published, to whichever of them. */
  readonly service: HttpService;
  /** Of a run: its columns as `name type`, and its rows. */
  read(id: string): Promise<readonly [readonly string[], readonly unknown[]]>;
  /** The ids of all runs of query 100. */
  runs(): Promise<readonly string[]>;
}

type Open = (service: HttpService) => Promise<Publisher>;

const PUBLISHERS: Readonly<Record<string, Open>> = {
  'on a data directory': async ({ commandLine }) => await openPublisher({ QRS_DATA_DIR: commandLine.dataDir }),
  'over HTTP': async ({ commandLine, url }) =>
    await openPublisher({ url, key: await commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write') }),
};

async function start(t: TestContext, open: Open): Promise<World> {
  const service = await startHttpService(t);
  for (const id of ['100', '101']) await service.commandLine.get('queries', 'add', '--id', id, '--user', 'ann');
  const publisher = await open(service);
  t.after(async () => await publisher[Symbol.asyncDispose]());
  return {
    publisher,
    service,
    async read(id) {
      const { result } = await service.json(`/v1/execution/${id}/results`);
      const { metadata, rows } = result as {
        readonly metadata: { readonly column_names: readonly string[]; readonly column_types: readonly string[] };
        readonly rows: readonly unknown[];
      };
      return [metadata.column_names.map((name, i) => `${name} ${metadata.column_types[i]}`), rows];
    },
    async runs() {
      const catalog = await service.catalog();
      return (await catalog.executions.list({ queryId: 100, limit: 10 })).map(({ id }) => id);
    },
  };
}

const ROWS = { kind: 'rows', rows: [{ n: 1 }] } as const;

for (const [name, open] of Object.entries(PUBLISHERS)) {
  suite(`a publisher ${name}`, () => {
    test('a run is submitted, started and completed with rows', async (t) => {
      const { publisher, read } = await start(t, open);
      const run = await publisher.submit({ queryId: 100, parameters: { day: '2024-03-05' } });
      assert.deepEqual([run.state, run.parameters, run.queryId], ['PENDING', { day: '2024-03-05' }, 100]);
      assert.equal(run.startedAt, undefined);
      const started = await publisher.start(run.id);
      assert.deepEqual(
        [started.state, started.submittedAt, typeof started.startedAt],
        ['EXECUTING', run.submittedAt, 'number'],
      );
      const source = { kind: 'rows', rows: [{ n: 1n }, { n: 2n ** 100n }] } as const;
      const done = await publisher.publish({ queryId: 100, executionId: run.id, source });
      assert.deepEqual([done.id, done.state, done.parameters], [run.id, 'COMPLETED', { day: '2024-03-05' }]);
      assert.equal((done.expiresAt ?? 0) - (done.endedAt ?? 0), 90 * 86_400_000);
      assert.deepEqual(await read(run.id), [['n hugeint'], [{ n: '1' }, { n: '1267650600228229401496703205376' }]]);
    });

    test('a run fails or is cancelled; after that it is not touched', async (t) => {
      const { publisher } = await start(t, open);
      const failed = await publisher.submit({ queryId: 100 });
      const { state, error } = await publisher.fail(failed.id, { message: 'no table trades', line: 3, column: 8 });
      assert.deepEqual(
        [state, error],
        ['FAILED', { type: 'execution_error', message: 'no table trades', line: 3, column: 8 }],
      );
      const submitted = await publisher.submit({ queryId: 100, parameters: { day: '' } });
      const cancelled = await publisher.cancel(submitted.id);
      assert.deepEqual(
        [cancelled.state, cancelled.parameters, typeof cancelled.cancelledAt],
        ['CANCELLED', { day: '' }, 'number'],
      );
      const refused = async (work: Promise<unknown>, from: string, to: string, id: string) =>
        await assert.rejects(work, {
          name: 'IllegalTransition',
          from,
          message: `execution ${id} is ${from}: it cannot become ${to}`,
        });
      await refused(publisher.start(failed.id), 'FAILED', 'EXECUTING', failed.id);
      await refused(publisher.cancel(failed.id), 'FAILED', 'CANCELLED', failed.id);
      await refused(publisher.fail(cancelled.id, { message: 'x' }), 'CANCELLED', 'FAILED', cancelled.id);
      const rows = function* () {
        assert.fail('no row is asked for');
        yield {};
      };
      const late = { queryId: 100, executionId: cancelled.id, source: { kind: 'rows', rows: rows() } } as const;
      await assert.rejects(publisher.publish(late), IllegalTransition);
      const unknown = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';
      for (const id of [unknown, 'nonsense', 'a/b']) {
        const gone = { name: 'IllegalTransition', from: undefined, message: `execution ${id} does not exist` };
        await assert.rejects(publisher.start(id), gone);
        await assert.rejects(publisher.cancel(id), gone);
        await assert.rejects(publisher.publish({ queryId: 100, executionId: id, source: ROWS }), gone);
      }
    });

    test('what a run cannot have is refused by name', async (t) => {
      const { publisher, runs } = await start(t, open);
      const refused = async (work: Promise<unknown>, name: string, message: string | RegExp) =>
        await assert.rejects(work, { name, message });
      const day = 5 as unknown as string;
      const noText = 'the parameter "day" is no text: its value is a number';
      await refused(publisher.submit({ queryId: 100, parameters: { day } }), 'PublishError', noText);
      await refused(publisher.publish({ queryId: 100, source: ROWS, parameters: { day } }), 'PublishError', noText);
      const long = { day: 'x'.repeat(2001) };
      const tooLong = "a parameter's name has at most 100 characters, its value 2000";
      await refused(publisher.submit({ queryId: 100, parameters: long }), 'PublishError', tooLong);
      await refused(publisher.submit({ queryId: 7 }), 'CatalogConflict', /query 7|Query not found/);
      await refused(publisher.publish({ queryId: 7, source: ROWS }), 'PublishError', /query 7|Query not found/);
      assert.deepEqual(await runs(), []);
      const { id } = await publisher.submit({ queryId: 100 });
      const publication = { queryId: 100, source: ROWS, executionId: id };
      const own = 'parameters are for a new run: the one of executionId has its own already';
      await refused(publisher.publish({ ...publication, parameters: {} }), 'PublishError', own);
      const another = `execution ${id} is a run of query 100, not of query 101`;
      await refused(publisher.publish({ ...publication, queryId: 101 }), 'PublishError', another);
      const noMessage = 'the message of an error has 1 to 10000 characters';
      await refused(publisher.fail(id, { message: ' ' }), 'PublishError', noMessage);
      const place = 'the column of an error needs its line';
      await refused(publisher.fail(id, { message: 'x', column: 3 }), 'PublishError', place);
      const noType =
        'types, column "n": type "numbr", position 1: found "numbr", expected a type name such as varchar, bigint, decimal(10, 3) or timestamp(3) with time zone';
      await refused(publisher.publish({ ...publication, types: { n: 'numbr' } }), 'ColumnTypeError', noType);
    });

    test('rows: the values tell the types, and every digit is kept', async (t) => {
      const { publisher, read } = await start(t, open);
      const at = new Date(1_709_671_859_123);
      const rows = [
        { whole: 1, real: 1, big: 2n ** 200n, text: '007', on: true, at, bytes: Buffer.from([192, 255]), list: [1] },
        { whole: 2 ** 53 - 1, real: 0.5, text: 'NaN', 'a "b", c=d': 'x', money: '1.10' },
        { real: Number.NaN, text: undefined, on: null, list: [2, null], 'a "b", c=d': '' },
      ];
      const { id } = await publisher.publish({
        queryId: 100,
        source: { kind: 'rows', rows: Readable.from(rows) },
        types: { money: 'decimal(10, 2)' },
      });
      assert.deepEqual(await read(id), [
        [
          'whole bigint',
          'real double',
          'big uint256',
          'text varchar',
          'on boolean',
          'at timestamp(3) with time zone',
          'bytes varbinary',
          'list array(bigint)',
          'a "b", c=d varchar',
          'money decimal(10, 2)',
        ],
        [
          {
            whole: 1,
            real: 1,
            big: '1606938044258990275541962092341162602522202993782792835301376',
            text: '007',
            on: true,
            at: '2024-03-05 20:50:59.123 UTC',
            bytes: '0xc0ff',
            list: [1],
            'a "b", c=d': null,
            money: null,
          },
          {
            whole: 9007199254740991,
            real: 0.5,
            big: null,
            text: 'NaN',
            on: null,
            at: null,
            bytes: null,
            list: null,
            'a "b", c=d': 'x',
            money: '1.10',
          },
          {
            whole: null,
            real: 'NaN',
            big: null,
            text: null,
            on: null,
            at: null,
            bytes: null,
            list: [2, null],
            'a "b", c=d': '',
            money: null,
          },
        ],
      ]);
    });

    test('files and streams: by name, by what is said of them, by their first bytes', async (t) => {
      const { publisher, service, read } = await start(t, open);
      const folder = service.commandLine.directory;
      const published = async (name: string, content: string | Buffer, more: object = {}) => {
        const path = join(folder, name);
        await writeFile(path, content);
        const { id } = await publisher.publish({ queryId: 100, source: { kind: 'file', path }, ...more });
        return await read(id);
      };
      const n = [['n bigint'], [{ n: 1 }]];
      assert.deepEqual(await published('a.csv', 'n\n1\n'), n);
      assert.deepEqual(await published('a.csv.gz', gzipSync('n\n1\n')), n);
      assert.deepEqual(await published('a.json', '[{"n":1}]'), n);
      assert.deepEqual(await published('a', '{"n":1}\n'), n);
      const two = [['a varchar', 'b bigint'], [{ a: 'é', b: 2 }]];
      assert.deepEqual(await published('b.csv', 'a|b\né|2\n', { delimiter: '|' }), two);
      const latin = { format: 'csv', delimiter: '\t', encoding: 'latin-1' };
      assert.deepEqual(await published('b', Buffer.from('a\tb\né\t2\n', 'latin1'), latin), two);
      assert.deepEqual(
        await published('b.tsv', Buffer.from('\ufeffa\tb\né\t2\n', 'utf16le'), { encoding: 'utf-16' }),
        two,
      );
      const parquet = await (await service.get('/v1/query/100/results?format=parquet')).bytes();
      assert.deepEqual(await published('c', Buffer.from(parquet)), two);
      const stream = Readable.from([Buffer.from('n\n'), Buffer.from('12\n')]);
      const typed = { queryId: 100, source: { kind: 'stream', stream }, types: { n: 'uint256' } } as const;
      assert.deepEqual(await read((await publisher.publish(typed)).id), [['n uint256'], [{ n: '12' }]]);
    });

    test('what cannot be stored is refused with its place, and nothing has changed', async (t) => {
      const { publisher, service, runs } = await start(t, open);
      const refused = async (publication: object, message: string) => {
        const work = publisher.publish({ queryId: 100, ...publication } as Parameters<Publisher['publish']>[0]);
        await assert.rejects(work, (error) => {
          assert.ok(error instanceof PublishError, String(error));
          assert.equal(error.message, message);
          return true;
        });
      };
      const rows = (...all: readonly unknown[]) => ({ source: { kind: 'rows', rows: all } });
      const symbol = 'row 2, column "n": a symbol cannot be stored';
      await refused(rows({ n: 1 }, { n: Symbol('x') }), symbol);
      await refused(rows(), 'there is no row with a column in it, and no types are declared, so there are no columns');
      const said = 'format is for files and streams, and these are rows';
      await refused({ ...rows({ n: 1 }), format: 'csv' }, said);
      const value = 'row 2, column "n": "\\"x\\"" cannot be stored as bigint';
      await refused({ ...rows({ n: '1' }, { n: 'x' }), types: { n: 'bigint' } }, value);
      const path = join(service.commandLine.directory, 'x.csv');
      await refused({ source: { kind: 'file', path } }, `there is no file ${path}`);
      await refused(
        { source: { kind: 'file', path: service.commandLine.directory } },
        `${service.commandLine.directory} is a folder, expected a file`,
      );
      await writeFile(path, 'n\n1\n');
      const file = { source: { kind: 'file', path } };
      const letter = 'A delimiter is one character that is no letter, digit or double quote, or tab; "x" is none.';
      await refused({ ...file, delimiter: 'x' }, letter);
      await refused({ ...file, format: 'ndjson' }, 'line 1: expected a JSON object, or an array of objects');
      assert.deepEqual(await runs(), []);
    });

    test('what the rows or the stream fail with, and the reason of the signal, are what publish fails with', async (t) => {
      const { publisher, runs } = await start(t, open);
      const broken = new Error('the database went away');
      async function* failing() {
        yield { n: 1 };
        throw broken;
      }
      const same = (expected: Error) => (error: unknown) => error === expected;
      await assert.rejects(
        publisher.publish({ queryId: 100, source: { kind: 'rows', rows: failing() } }),
        same(broken),
      );
      const stream = Readable.from(failing(), { objectMode: true }).map(() => Buffer.from('n\n'));
      await assert.rejects(publisher.publish({ queryId: 100, source: { kind: 'stream', stream } }), same(broken));
      const stopping = new AbortController();
      const reason = new Error('it is enough');
      async function* endless() {
        for (let n = 0; ; n += 1) {
          if (n === 1000) stopping.abort(reason);
          yield { n };
        }
      }
      const source = { kind: 'rows', rows: endless() } as const;
      const { signal } = stopping;
      await assert.rejects(publisher.publish({ queryId: 100, source, signal }), same(reason));
      await assert.rejects(publisher.publish({ queryId: 100, source: ROWS, signal }), same(reason));
      assert.deepEqual(await runs(), []);
    });

    test('an archived query takes no run', async (t) => {
      const { publisher, service, runs } = await start(t, open);
      const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
      const archive = async () => await sender(service, key)('POST', '/v1/query/100/archive');
      async function* untilArchived() {
        yield { n: 1 };
        await archive();
      }
      const refused = {
        name: 'PublishError',
        kind: 'archived',
        message: 'query 100 is archived: it is served, not run; unarchive it first',
      };
      const late = { queryId: 100, source: { kind: 'rows', rows: untilArchived() } } as const;
      await assert.rejects(publisher.publish(late), refused, 'archived while the rows are read');
      await assert.rejects(publisher.publish({ queryId: 100, source: ROWS }), refused);
      assert.deepEqual(await runs(), []);
      await assert.rejects(publisher.submit({ queryId: 100 }), {
        name: 'CatalogConflict',
        message: 'query 100 is archived: it is served, not run; unarchive it first',
      });
    });

    test('progress: what has been read, then what has been sent or done', async (t) => {
      const { publisher } = await start(t, open);
      const phases = new Set<string>();
      const rows = Array.from({ length: 20_000 }, (_, n) => ({ n }));
      await publisher.publish({
        queryId: 100,
        source: { kind: 'rows', rows },
        onProgress: ({ phase }) => phases.add(phase),
      });
      assert.deepEqual(
        [...phases],
        name === 'over HTTP' ? ['reading', 'sending'] : ['reading', 'converting', 'storing'],
      );
    });
  });
}
