/** When a sweep stops: a clock that jumped, a damaged catalog, more leftovers than usual. */
import assert from 'node:assert/strict';
import { mkdir, open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { ClockWatch } from '../../src/maintenance/clock-watch.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { Workplace } from './publishing.ts';

const DAY_MILLIS = 86_400_000;
/** The time that a read may take. */
const MINUTE_MILLIS = 60_000;

async function withResult(t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<CommandLine> {
  const qrs = await makeCommandLine(t, environment);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  assert.equal((await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n')).err, '');
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
  return qrs;
}

async function objectsOf(qrs: CommandLine): Promise<readonly string[]> {
  const names = await readdir(join(qrs.dataDir, 'results'), { recursive: true });
  return names.filter((name) => name.endsWith('.parquet'));
}

/** Leftovers as writers make them: one object each, and no lease any more. */
async function leaveBehind(qrs: CommandLine, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const folder = join(qrs.dataDir, 'results', `01HR${String(n).padStart(22, '0')}`, '9');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'part-00000.parquet'), 'half');
  }
}

async function doctorOf(qrs: CommandLine, check: string): Promise<string | undefined> {
  const findings = JSON.parse((await qrs.run(['doctor', '--json'])).out);
  return findings.find((finding: { readonly check: string }) => finding.check === check)?.found;
}

test('with the clock 200 days ahead nothing is deleted, the doctor reports it, and it may be confirmed', async (t) => {
  const qrs = await withResult(t);
  qrs.now += 200 * DAY_MILLIS;
  const told =
    /the clock went from 2024-03-05T20:50:59.123000Z to 2024-09-21T20:50:59.123000Z, by a wrong clock or a long stop, so nothing is deleted until the service has run for 24 more hours; if the clock is right, `qrs sweep --yes` deletes all the same/;
  for (let again = 0; again < 2; again += 1) {
    const { code, out, err } = await qrs.run(['sweep']);
    assert.deepEqual({ code, out }, { code: 1, out: 'expired=0\norphans=0\nbytes=0\n' });
    assert.match(err, told);
  }
  assert.match((await doctorOf(qrs, 'clock')) ?? '', told);
  assert.equal((await objectsOf(qrs)).length, 1);
  assert.match(await qrs.get('executions', 'list', '--json'), /EXPIRED/, 'it reads as expired all the same');

  assert.match(await qrs.get('sweep', '--yes'), /^expired=1\n/);
  assert.deepEqual(await objectsOf(qrs), []);
  assert.equal(await doctorOf(qrs, 'clock'), 'where it was last seen, give or take a day');
  assert.equal(await qrs.get('sweep'), 'expired=0\norphans=0\nbytes=0');
});

test('a clock that was wrong and is right again has lost nothing', async (t) => {
  const qrs = await withResult(t);
  qrs.now += 200 * DAY_MILLIS;
  assert.equal((await qrs.run(['sweep'])).code, 1);
  qrs.now -= 200 * DAY_MILLIS;
  assert.match((await qrs.run(['sweep'])).err, /the clock went from 2024-09-21T\S+ to 2024-03-05T/);
  await qrs.get('sweep', '--yes');
  assert.equal((await objectsOf(qrs)).length, 1);
});

test('a running service sees that its clock jumped, says so, and believes it after a day of running', async () => {
  await using place = await Workplace.open();
  const jumps: unknown[] = [];
  let now = 1_709_671_859_000;
  const watch = new ClockWatch({ catalog: place.catalog, clock: () => now, onJump: (doubt) => jumps.push(doubt) });
  await watch.look();
  const from = now;
  now += 3 * DAY_MILLIS;
  const to = now;
  await watch.look();
  assert.deepEqual(jumps, [{ from, to, leftMillis: DAY_MILLIS }]);
  for (let tenth = 0; tenth < 144; tenth += 1) {
    assert.notEqual((await place.catalog.installation.findClock())?.doubt, undefined);
    now += 600_000;
    await watch.look();
  }
  assert.equal((await place.catalog.installation.findClock())?.doubt, undefined);
  assert.equal(jumps.length, 1);
});

test('leftovers of more than a tenth and a hundred objects stop the sweep; expired results go all the same', async (t) => {
  const qrs = await withResult(t);
  await leaveBehind(qrs, 101);
  const { code, out, err } = await qrs.run(['sweep']);
  assert.deepEqual({ code, out }, { code: 1, out: 'expired=0\norphans=0\nbytes=0\n' });
  assert.match(
    err,
    /^error: 101 of 102 stored objects are left alone, though no result [^\n]+`qrs sweep --yes` deletes all/,
  );
  qrs.now += DAY_MILLIS * 90 + MINUTE_MILLIS;
  assert.equal((await qrs.run(['sweep'])).code, 1, 'the clock');
  const catalog = new DatabaseSync(join(qrs.dataDir, 'catalog.sqlite'));
  catalog.exec(`update installation set clock = json_object('latestSeen', ${qrs.now})`);
  catalog.close();
  assert.match((await qrs.run(['sweep'])).out, /^expired=1\norphans=0\n/);
  assert.equal((await objectsOf(qrs)).length, 101);
  assert.match(await qrs.get('sweep', '--yes'), /^expired=0\norphans=101\n/);
});

test('a hundred leftovers, or fewer than the share, are deleted without asking', async (t) => {
  const few = await withResult(t);
  await leaveBehind(few, 100);
  assert.match(await few.get('sweep'), /^expired=0\norphans=100\n/);
  const many = await withResult(t, { QRS_SWEEP_SHARE: '1' });
  await leaveBehind(many, 101);
  assert.match(await many.get('sweep'), /^expired=0\norphans=101\n/);
});

test('with a damaged page in the catalog nothing is deleted', async (t) => {
  const qrs = await withResult(t);
  const path = join(qrs.dataDir, 'catalog.sqlite');
  const database = new DatabaseSync(path);
  const sql = `select rootpage from sqlite_schema where name = 'sqlite_autoindex_result_sets_1'`;
  const page = Number(database.prepare(sql).get()?.rootpage);
  const size = Number(database.prepare('pragma page_size').get()?.page_size);
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  await using file = await open(path, 'r+');
  // An index page that looks empty: no look-up fails, and every result seems unknown.
  const empty = Buffer.alloc(size);
  empty[0] = 0x0a;
  empty.writeUInt16BE(size, 5);
  await file.write(empty, 0, size, (page - 1) * size);
  const { code, err } = await qrs.run(['sweep']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: nothing is deleted: the catalog \S+ is damaged: [^\n]+; restore the catalog from a backup\n$/,
  );
  assert.equal((await objectsOf(qrs)).length, 1);
});
