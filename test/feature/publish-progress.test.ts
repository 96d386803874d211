/** The progress of a publish, as a person and as a program sees it. */
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { PublishProgress } from '../../src/cli/publish-progress.ts';
import { type Progress, publish } from '../../src/publishing/publish.ts';
import { makeCommandLine } from './command.ts';
import { NEVER, OPTIONS, QUERY_ID, Workplace } from './publishing.ts';

test('publishing shows a bar with rows, bytes and the time left; with --json events, a line each', async (t) => {
  const qrs = await makeCommandLine(t);
  const show = (asEvents: boolean, columns?: number): readonly string[] => {
    const written: string[] = [];
    let now = 0;
    const stderr = { isTerminal: !asEvents, columns, write: (text: string) => written.push(text) };
    const progress = new PublishProgress({ stderr, monotonic: () => now }, asEvents);
    progress.show({ phase: 'reading', bytes: 0 });
    now = 500;
    progress.show({ phase: 'reading', bytes: 4_200_000 });
    progress.show({ phase: 'converting', rows: 0, rowsTotal: undefined, bytes: 0 });
    now = 6500;
    progress.show({ phase: 'converting', rows: 1_000_000, rowsTotal: 3_000_000, bytes: 120_000_000 });
    progress.show({ phase: 'storing', parts: 1, partsTotal: 4 });
    progress[Symbol.dispose]();
    return written.map((text) => text.replace('\r\u001b[K', '').trimEnd());
  };
  assert.deepEqual(show(false), [
    'reading',
    'reading: 4.2 MB',
    'converting: 0 rows',
    'converting: [########                ] 33 % 1,000,000 of 3,000,000 rows, 120 MB, 12 s left',
    'storing: [######                  ] 25 % 1 of 4 parts',
    '',
  ]);
  assert.ok(show(false, 40).every((line) => line.length < 40));
  assert.deepEqual(show(true), [
    '{"event":"progress","phase":"reading","bytes":0}',
    '{"event":"progress","phase":"converting","rows":0,"bytes":0}',
    '{"event":"progress","phase":"converting","rows":1000000,"rows_total":3000000,"bytes":120000000,"seconds_left":12}',
    '{"event":"progress","phase":"storing","parts":1,"parts_total":4}',
  ]);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const { out, err } = await qrs.run(
    ['publish', '-', '--query', '7', '--format', 'ndjson', '--json'],
    '{"n":1}\n{"n":2}\n',
  );
  assert.equal(JSON.parse(out).state, 'QUERY_STATE_COMPLETED');
  const events = err
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual([...new Set(events.map(({ phase }) => phase))], ['reading', 'converting', 'storing']);
});

for (const [format, content] of [
  ['csv', 'n\n1\n2\n3\n'],
  ['ndjson', '{"n":1}\n{"n":2}\n{"n":3}'],
] as const) {
  test(`the total number of rows is known while ${format} is converted`, async () => {
    await using place = await Workplace.open();
    const seen: Progress[] = [];
    const source = { kind: 'stream', stream: Readable.from([Buffer.from(content)]) } as const;
    const request = { queryId: QUERY_ID, source, format };
    await publish(place.dependencies, request, OPTIONS, NEVER, (progress) => seen.push(progress));
    const bytes = Buffer.byteLength(content);
    assert.deepEqual(
      seen.find((one) => one.phase === 'reading' && one.bytes > 0),
      { phase: 'reading', bytes },
    );
    const converted = seen.filter((one) => one.phase === 'converting');
    assert.equal(converted.at(-1)?.rowsTotal, 3);
    assert.deepEqual(converted.map(({ rows, bytes: cells }) => [rows, cells]).at(-1), [3, 24]);
  });
}
