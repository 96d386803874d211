/** The decisions: each number is given once, and what refers to a decision names one that there is. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = 'docs/decisions';

/** `18`, `18 to 20`, `18 and 20`, `18, 20` */
const NAMED = /\bdecisions? (\d+)(?:(?:, | and | or | to |–)(\d+))*/gi;
const LINKED = /decisions\/(\d{4}-[\w-]+\.md)|\]\((\d{4}-[\w-]+\.md)/g;

/** The numbers and files of decisions that a text refers to. */
function referencesIn(text: string): readonly (number | string)[] {
  const numbers = [...text.matchAll(NAMED)].flatMap(([words]) => words.match(/\d+/g)?.map(Number) ?? []);
  const files = [...text.matchAll(LINKED)].map(([, beside, within]) => beside ?? within ?? '');
  return [...numbers, ...files];
}

/** What is wrong with the decisions in these files, and with what refers to them. */
function problemsOf(files: readonly string[], texts: Readonly<Record<string, string>>): readonly string[] {
  const numbers = files.map((file) => Number(file.slice(0, 4)));
  const twice = files.filter((_, index) => numbers.indexOf(numbers[index] ?? 0) !== index);
  const there = new Set<number | string>([...numbers, ...files]);
  return [
    ...files.filter((file) => !/^\d{4}-[a-z0-9-]+\.md$/.test(file)).map((file) => `${file} has no number`),
    ...twice.map((file) => `${file} has the number of another`),
    ...files
      .filter((file) => !texts[join(FOLDER, file)]?.startsWith(`# ${Number(file.slice(0, 4))}. `))
      .map((file) => `${file} does not begin with its number and a title`),
    ...Object.entries(texts).flatMap(([path, text]) =>
      referencesIn(text)
        .filter((reference) => !there.has(reference))
        .map((reference) => `${path} refers to decision ${reference}, which is not there`),
    ),
  ];
}

function below(folder: string): readonly string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' });
  return found.filter((path) => !/(^|\/)node_modules\//.test(path)).map((path) => join(folder, path));
}

test('what is wrong is found', () => {
  const texts = {
    'docs/decisions/0001-one.md': '# 1. One\n',
    'docs/decisions/0001-other.md': '# 1. Other\nsee (0002-two.md), [two](0002-two.md)',
    'docs/decisions/0002-two.md': 'Two\n',
    'src/a.ts': '// decision 3; Decisions 1, 2 and 4; docs/decisions/0001-won.md; decision 10 rows',
  };
  const files = ['0001-one.md', '0001-other.md', '0002-two.md'];
  assert.deepEqual(problemsOf(files, texts), [
    '0001-other.md has the number of another',
    '0002-two.md does not begin with its number and a title',
    'src/a.ts refers to decision 3, which is not there',
    'src/a.ts refers to decision 4, which is not there',
    'src/a.ts refers to decision 10, which is not there',
    'src/a.ts refers to decision 0001-won.md, which is not there',
  ]);
});

test('each decision has a number of its own, and none is referred to that is not there', () => {
  const own = 'test/io/decisions.test.ts';
  const paths = readdirSync(ROOT, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .flatMap((entry) => (entry.isDirectory() ? below(entry.name) : [entry.name]))
    .filter((path) => /\.(ts|tsx|md|py|yml|yaml|css)$/.test(path) && path !== own);
  const texts = Object.fromEntries(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
  const files = readdirSync(join(ROOT, FOLDER)).toSorted();
  assert.ok(files.length >= 25 && paths.length > 500);
  assert.deepEqual(problemsOf(files, texts), []);
});
