/** The words of ARCHITECTURE.md: a retired word does not come back in a declared name. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['src', 'web', 'clients'];

/** Each retired word with the word that is used instead. */
const RETIRED: Readonly<Record<string, string>> = {
  passage: 'SegmentIndex',
  tally: 'RequestStats',
  traffic: 'InFlightRequests',
  lookups: 'CatalogCache',
  hotAnswer: 'ResponseCache',
  recentAnswer: 'CachedResponse',
  addressEntry: 'CachedResponse',
  pieces: 'ByteChunks',
  admission: 'ConcurrencyLimiter',
  failedKeys: 'AuthFailureLimiter',
  holder: 'LeaseOwner',
  misfit: 'InvalidValue',
  evidence: 'ColumnStats',
  chore: 'ScheduledTask',
  tellAll: 'fanOut',
  startFailure: 'StartupError',
  requestLife: 'RequestContext',
  underWay: 'inFlight',
  givesWayTo: 'yieldsTo',
  caseless: 'caseInsensitive',
  literalPath: 'escapeGlob',
  freshness: 'CachePolicy, or age',
};

/** Retired names of files. Laws are `*.property.test.ts`. */
const RETIRED_FILES = /^(?:comparable|compare-with-reading|literal-path|law-.*\.test|utils?|helpers?|types)\.tsx?$/;

/** Columns of the catalog keep their names, because existing databases have them. */
const KEPT = ['src/catalog/kysely/tables.ts: holder'];

const DECLARED =
  /(?:\b(?:class|interface|type|function\*?|const|let|get|readonly|static|async)\s+\*?|^\s+)#?([A-Za-z_$][\w$]*)\s*(?=[(:=<{?])/gm;

/** Whether a declared name is the word, or has it as a part: `failedKeys`, `FailedKeysLimit`. */
function has(name: string, word: string): boolean {
  const capital = word[0]?.toUpperCase() + word.slice(1);
  return new RegExp(`^${word}(?![a-z])|^${word}s?(?![a-z])|${capital}s?(?![a-z])`).test(name);
}

test('retired words are found in names, and other words are not', () => {
  assert.ok(has('isHolderDead', 'holder'));
  assert.ok(has('Tally', 'tally'));
  assert.ok(has('chores', 'chore'));
  assert.ok(!has('placeholder', 'holder'));
  assert.ok(!has('totally', 'tally'));
});

function filesIn(folder: string): readonly string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return found
    .filter((path) => /\.tsx?$/.test(path) && !path.includes('node_modules'))
    .map((path) => join(folder, path));
}

test('no retired word is declared', () => {
  const files = FOLDERS.flatMap(filesIn);
  assert.ok(files.length > 500);
  const found = files.flatMap((path) => {
    const code = readFileSync(join(ROOT, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
    const names = new Set([...code.matchAll(DECLARED)].map((match) => match[1] ?? ''));
    return [...names].flatMap((name) =>
      Object.entries(RETIRED)
        .filter(([word]) => has(name, word) && !KEPT.includes(`${path}: ${name}`))
        .map(([, instead]) => `${path}: ${name} (${instead})`),
    );
  });
  assert.deepEqual(found, []);
});

test('no file has a retired name, or one that says nothing', () => {
  assert.ok(['law-of-pages.test.ts', 'utils.ts', 'types.ts'].every((name) => RETIRED_FILES.test(name)));
  const files = [...FOLDERS, 'test'].flatMap(filesIn);
  assert.deepEqual(
    files.filter((path) => RETIRED_FILES.test(basename(path))),
    [],
  );
});
