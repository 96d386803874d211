/**
 * Imports point one way (ARCHITECTURE.md): this test reads every import of src/ and holds it against the rules. It also
 * holds the sizes: a file that has grown past the limit has more than one subject.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const LINES_MAX = 350;

interface Import {
  readonly from: string;
  /** A path below src/, or the name of a package. */
  readonly to: string;
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .sort();

const imports: readonly Import[] = files.flatMap((from) => {
  const text = readFileSync(join(ROOT, 'src', from), 'utf8');
  const specifiers = [...text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\()'([^']+)'/g)].map(
    (match) => match[1] ?? '',
  );
  return specifiers.map((specifier) => ({
    from,
    to: specifier.startsWith('.')
      ? relative(join(ROOT, 'src'), resolve(ROOT, 'src', dirname(from), specifier))
      : specifier,
  }));
});

const isPackage = (to: string) => !to.endsWith('.ts');
/** The files that put implementations together: compose.ts, and compose-….ts for its parts. */
const isComposition = (path: string) => /^compose(-[a-z]+)?\.ts$/.test(path);
const room = (path: string) => path.split('/')[0] ?? '';

function offenders(rule: (found: Import) => boolean): readonly string[] {
  return imports.filter(rule).map(({ from, to }) => `${from} imports ${to}`);
}

test('there are imports to look at', () => {
  assert.ok(imports.some(({ from, to }) => from === 'results/pipeline.ts' && to === 'errors/errors.ts'));
});

test('domain imports nothing but domain', () => {
  assert.deepEqual(
    offenders(({ from, to }) => room(from) === 'domain' && room(to) !== 'domain'),
    [],
  );
});

test('expression imports only domain', () => {
  const allowed = ['domain', 'expression'];
  assert.deepEqual(
    offenders(({ from, to }) => room(from) === 'expression' && !allowed.includes(room(to))),
    [],
  );
});

test('the pure stages of the read path import no package and no node: module', () => {
  const pure = ['request', 'query-string', 'columns-parameter', 'plan', 'find-column', 'envelope', 'respond'];
  assert.deepEqual(
    offenders(({ from, to }) => pure.some((name) => from === `results/${name}.ts`) && isPackage(to)),
    [],
  );
});

test("outside a seam's folder only its interface file is imported, except by the composition", () => {
  const seams: Readonly<Record<string, string>> = {
    catalog: 'catalog/catalog.ts',
    store: 'store/result-store.ts',
    engine: 'engine/engine.ts',
  };
  assert.deepEqual(
    offenders(({ from, to }) => {
      const face = seams[room(to)];
      return face !== undefined && to !== face && room(from) !== room(to) && !isComposition(from);
    }),
    [],
  );
});

test('only http speaks Fastify, only catalog speaks Kysely and SQLite, only cli speaks commander', () => {
  const owners: Readonly<Record<string, string>> = {
    fastify: 'http',
    kysely: 'catalog',
    'node:sqlite': 'catalog',
    commander: 'cli',
  };
  assert.deepEqual(
    offenders(({ from, to }) => owners[to] !== undefined && owners[to] !== room(from)),
    [],
  );
});

test('nothing imports the command line or the HTTP layer but the command line, main.ts and the composition', () => {
  const tops = ['cli', 'http'];
  const allowed = ['cli', 'http', 'main.ts'];
  assert.deepEqual(
    offenders(({ from, to }) => tops.includes(room(to)) && !allowed.includes(room(from)) && !isComposition(from)),
    [],
  );
});

/** Where a process begins: the command, and the library's entry. */
const ENTRIES = ['main.ts', 'publisher.ts'];

test('only the entries touch the environment, the clock and signals', () => {
  const effects = /process\.env\b|Date\.now\(|new Date\(\)|process\.on\(|process\.exit\b/;
  const found = files.filter(
    (path) => !ENTRIES.includes(path) && effects.test(readFileSync(join(ROOT, 'src', path), 'utf8')),
  );
  assert.deepEqual(found, []);
});

test(`no source file is longer than ${LINES_MAX} lines, and each starts by saying what it is`, () => {
  for (const path of files) {
    const text = readFileSync(join(ROOT, 'src', path), 'utf8');
    assert.ok(text.split('\n').length <= LINES_MAX, `src/${path} is longer than ${LINES_MAX} lines`);
    assert.match(text, /^\/\*\*/, `src/${path} has no paragraph on top`);
  }
});

test('every package that is imported is declared: what runs in a service as a dependency, the rest at least for development', () => {
  const declared = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  const undeclared = (folders: readonly string[], names: readonly string[], isLooked: (path: string) => boolean) =>
    folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => /\.(ts|js)$/.test(path) && isLooked(path))
        .flatMap((path) =>
          packagesIn(join(ROOT, folder, path))
            .filter((name) => !names.includes(name))
            .map((name) => `${folder}/${path} imports ${name}`),
        ),
    );
  const runs = Object.keys(declared.dependencies);
  const all = [...runs, ...Object.keys(declared.devDependencies), declared.name];
  const isTest = (path: string) => path.endsWith('.test.ts');
  assert.deepEqual(
    undeclared(['src', 'bin'], runs, (path) => !isTest(path)),
    [],
  );
  assert.deepEqual(undeclared(['src'], all, isTest), []);
  assert.deepEqual(
    undeclared(['test', 'scripts', 'bench'], all, (path) => !path.includes('node_modules')),
    [],
  );
});

/** `fastify` of `fastify/types/x`, `@scalar/types` of `@scalar/types/x`. */
function packagesIn(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  const specifiers = [...text.matchAll(/^(?:import|export)\s[^;]*?from\s+'([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm)];
  return specifiers
    .map((match) => match[1] ?? match[2] ?? '')
    .filter((specifier) => !specifier.startsWith('node:') && !specifier.includes(':'))
    .map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
}
