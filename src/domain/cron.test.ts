import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { CronError, checkCron, lastTick, nextTick, parseCron } from './cron.ts';

const at = (text: string) => Date.parse(`${text.replace(' ', 'T')}Z`);
const show = (instant: number) => new Date(instant).toISOString().slice(0, 19).replace('T', ' ');

/** The first ticks after an instant, without the year and the seconds. */
function ticks(cron: string, after: string, count: number): readonly string[] {
  const parsed = parseCron(cron);
  let tick = at(after);
  return Array.from({ length: count }, () => {
    tick = nextTick(parsed, tick);
    return show(tick).slice(5, 16);
  });
}

describe('ticks', () => {
  const cases: readonly (readonly [cron: string, after: string, expected: readonly string[]])[] = [
    ['* * * * *', '2024-03-05 10:00:00', ['03-05 10:01', '03-05 10:02']],
    ['*/15 * * * *', '2024-03-05 10:14:59', ['03-05 10:15', '03-05 10:30', '03-05 10:45', '03-05 11:00']],
    ['0 0 * * *', '2024-03-05 00:00:00', ['03-06 00:00', '03-07 00:00']],
    ['30 6,18 * * *', '2024-03-05 07:00:00', ['03-05 18:30', '03-06 06:30']],
    ['10-50/20 9 * * *', '2024-03-05 09:30:00', ['03-05 09:50', '03-06 09:10']],
    ['7/30 * * * *', '2024-03-05 09:00:00', ['03-05 09:07', '03-05 09:37', '03-05 10:07']],
    ['0 12 1 * *', '2024-12-15 00:00:00', ['01-01 12:00', '02-01 12:00']],
    ['0 0 31 * *', '2024-02-01 00:00:00', ['03-31 00:00', '05-31 00:00']],
    ['0 0 * feb,JUL *', '2024-07-31 00:00:00', ['02-01 00:00']],
    ['0 8 * * mon-fri', '2024-03-08 09:00:00', ['03-11 08:00', '03-12 08:00']],
    ['0 8 * * 7', '2024-03-05 00:00:00', ['03-10 08:00']],
    ['0 8 * * 0', '2024-03-05 00:00:00', ['03-10 08:00']],
    // Both days are restricted: either will do. 2024-09-13 is a Friday.
    ['0 0 13 * fri', '2024-09-05 00:00:00', ['09-06 00:00', '09-13 00:00', '09-20 00:00']],
    // A day that begins with an asterisk does not restrict by itself: both must match.
    ['0 0 */2 * fri', '2024-09-05 00:00:00', ['09-13 00:00', '09-27 00:00']],
  ];
  for (const [cron, after, expected] of cases) {
    test(`${cron} after ${after}`, () => assert.deepEqual(ticks(cron, after, expected.length), expected));
  }

  test('29 February comes only in leap years (2100 is none), and may take decades to fall on a given weekday', () => {
    assert.equal(show(nextTick(parseCron('0 0 29 2 *'), at('2024-03-01 00:00:00'))), '2028-02-29 00:00:00');
    assert.equal(show(nextTick(parseCron('0 0 29 2 *'), at('2096-03-01 00:00:00'))), '2104-02-29 00:00:00');
  });

  test('the last tick is at or before the instant, the next one after it', () => {
    const cron = parseCron('*/15 * * * *');
    assert.equal(show(lastTick(cron, at('2024-03-05 10:15:00'))), '2024-03-05 10:15:00');
    assert.equal(show(nextTick(cron, at('2024-03-05 10:15:00'))), '2024-03-05 10:30:00');
    assert.equal(show(lastTick(cron, at('2024-03-05 10:14:59'))), '2024-03-05 10:00:00');
    assert.equal(show(lastTick(parseCron('0 0 1 1 *'), at('2024-12-31 23:59:59'))), '2024-01-01 00:00:00');
  });
});

describe('errors name the field and what was expected', () => {
  const cases: readonly (readonly [cron: string, message: RegExp])[] = [
    ['', /found 0 fields, expected 5/],
    ['* * * *', /found 4 fields, expected 5/],
    ['* * * * * *', /found 6 fields, expected 5/],
    ['60 * * * *', /minute: found "60", expected \*, a value from 0 to 59/],
    ['* 24 * * *', /hour: found "24"/],
    ['* * 0 * *', /day of month: found "0"/],
    ['* * * 13 *', /month: found "13"/],
    ['* * * * 8', /day of week: found "8"/],
    ['* * * foo *', /month: found "foo"/],
    ['5-1 * * * *', /minute: found "5-1"/],
    ['*/0 * * * *', /minute: found "\*\/0"/],
    ['1,,2 * * * *', /minute: found ""/],
    ['@daily', /found 1 fields/],
    ['0 0 31 2 *', /matches no day at all/],
  ];
  for (const [cron, message] of cases) {
    test(`"${cron}"`, () =>
      assert.throws(
        () => parseCron(cron),
        (error) => error instanceof CronError && message.test(error.message),
      ));
  }
});

test('the ticks are the minutes whose fields match, counted minute by minute', () => {
  const list = (min: number, max: number) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min: 1, max: 20 }).map((step) => `*/${step}`),
      fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 }).map((values) => values.join(',')),
    );
  const cron = fc.tuple(list(0, 59), list(0, 23), list(1, 28), fc.constant('*'), list(0, 6)).map((f) => f.join(' '));
  const start = fc.integer({ min: at('2020-01-01 00:00:00'), max: at('2030-01-01 00:00:00') });

  /** Matches a list such as `*`, `*\/5` or `1,2` against a value, the simplest way. */
  const matches = (field: string | undefined, value: number, min: number) =>
    field === '*' ||
    (field?.startsWith('*/')
      ? (value - min) % Number(field.slice(2)) === 0
      : field?.split(',').includes(String(value)));

  fc.assert(
    fc.property(cron, start, (text, instant) => {
      const [minute, hour, dayOfMonth, , dayOfWeek] = text.split(' ');
      const restricted = !dayOfMonth?.startsWith('*') && !dayOfWeek?.startsWith('*');
      let expected = Math.floor(instant / 60_000) * 60_000 + 60_000;
      // A day of the month falls on a given weekday again within two years.
      for (const limit = expected + 2 * 366 * 86_400_000; expected < limit; ) {
        const date = new Date(expected);
        const ofMonth = matches(dayOfMonth, date.getUTCDate(), 1);
        const ofWeek = matches(dayOfWeek, date.getUTCDay(), 0);
        const day = restricted ? ofMonth || ofWeek : ofMonth && ofWeek;
        if (!day) expected += 86_400_000 - (expected % 86_400_000);
        else if (matches(hour, date.getUTCHours(), 0) && matches(minute, date.getUTCMinutes(), 0)) break;
        else expected += 60_000;
      }
      const parsed = parseCron(text);
      assert.equal(show(nextTick(parsed, instant)), show(expected));
      assert.equal(show(lastTick(parsed, expected)), show(expected));
      assert.ok(lastTick(parsed, expected - 1) <= instant, 'no tick lies between the instant and the next one');
    }),
    // The 24th and a Sunday: the next is 427 days away.
    { numRuns: 200, examples: [['*/1 0 24 * */7', at('2022-07-24 00:59:00')]] },
  );
});

describe('a step beyond the values of its field is refused where it is written, and read where it is stored', () => {
  const cases: readonly (readonly [cron: string, message: RegExp])[] = [
    ['*/61 * * * *', /minute: found a step of 61, expected at most 60, the number of values$/],
    ['0 */25 * * *', /hour: found a step of 25, expected at most 24/],
    ['0 0 1/32 * *', /day of month: found a step of 32, expected at most 31/],
    ['0 0 1 */13 *', /month: found a step of 13, expected at most 12/],
    ['0 0 * * */8', /day of week: found a step of 8, expected at most 7/],
  ];
  for (const [cron, message] of cases) {
    test(`"${cron}"`, () => {
      assert.throws(
        () => checkCron(cron),
        (error) => error instanceof CronError && message.test(error.message),
      );
      assert.doesNotThrow(() => parseCron(cron));
    });
  }
  test('as many as there are values, and other mistakes', () => {
    for (const cron of ['*/60 */24 * * *', '0 0 */31 */12 *', '0 0 * * */7'])
      assert.doesNotThrow(() => checkCron(cron));
    assert.throws(() => checkCron('60 * * * *'), /minute: found "60"/);
  });
});
