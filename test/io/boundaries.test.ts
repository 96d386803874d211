/**
 * Imports point one way. This test reads every import of src/ and holds it against the tables of rooms in ARCHITECTURE.md, row
 * by row: a room imports what its row lists, and all that it lists. It also holds the sizes of files.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const LINES_MAX = 350;
/** Only the stages of a request; what they call is in other files. */
const PIPELINE_LINES_MAX = 150;

interface Import {
  readonly from: string;
  /** A path below src/, or the name of a package. */
  readonly to: string;
}

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .sort();
const texts = new Map(files.map((path) => [path, readFileSync(join(ROOT, 'src', path), 'utf8')]));

const imports: readonly Import[] = [...texts].flatMap(([from, text]) => {
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

interface Room {
  /** A folder or a file below src/. */
  readonly path: string;
  /** Rooms, files of other rooms, and packages (`node:*` stands for all of Node's). */
  readonly mayImport: readonly string[];
}

/** The rows of the tables under "Rooms": `| \`folder/\` | what is in it | \`a\`, \`b\` |`. */
function roomsOf(architecture: string): readonly Room[] {
  const [, section = ''] = architecture.split('\n## Rooms\n');
  const [table = ''] = section.split('\n## ');
  return table.split('\n').flatMap((line): readonly Room[] => {
    const [, folders = '', , allowed = ''] = line.split('|');
    const mayImport = [...allowed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => withoutSlash(name));
    return [...folders.matchAll(/`([^`]+)`/g)].map(([, path = '']) => ({ path: withoutSlash(path), mayImport }));
  });
}

const withoutSlash = (path: string) => path.replace(/\/$/, '');
const rooms = roomsOf(readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8'));
const isInside = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`);

/** The innermost room that a file is in. */
function roomOf(path: string): Room | undefined {
  return rooms
    .filter((room) => isInside(path, room.path))
    .sort((a, b) => b.path.length - a.path.length)
    .at(0);
}

const isPackage = (to: string) => !to.endsWith('.ts');

test('the tables name rooms, and src/ has imports', () => {
  assert.ok(rooms.length > 20, `${rooms.length} rooms`);
  assert.ok(imports.some(({ from, to }) => from === 'results/pipeline.ts' && to === 'results/plan/resolve.ts'));
});

test('every file that ARCHITECTURE.md names as the place of a rule exists', () => {
  const [, section = ''] = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').split('\n## Where to find a rule\n');
  const [table = ''] = section.split('\n## ');
  const named = [...table.matchAll(/`([\w/-]+\.(?:ts|sql))`/g)].map(([, path = '']) => path);
  assert.ok(named.length > 15, `${named.length} files`);
  assert.deepEqual(
    named.filter((path) => !existsSync(join(ROOT, 'src', path))),
    [],
  );
});

test('every file is in a room of the tables, and every room of the tables exists', () => {
  assert.deepEqual(
    files.filter((path) => roomOf(path) === undefined),
    [],
  );
  const gone = rooms.filter((room) => !files.some((path) => isInside(path, room.path)));
  assert.deepEqual(
    gone.map(({ path }) => path),
    [],
  );
});

for (const room of rooms) {
  test(`${room.path} imports ${room.mayImport.join(', ') || 'nothing'}, and each of these`, () => {
    const own = imports.filter(({ from }) => roomOf(from) === room);
    const isOf = (to: string, name: string) => isInside(to, name) || matchesPackage(to, name);
    const isAllowed = (to: string) => roomOf(to)?.path === room.path || room.mayImport.some((name) => isOf(to, name));
    assert.deepEqual(
      own.filter(({ to }) => !isAllowed(to)).map(({ from, to }) => `${from} imports ${to}`),
      [],
    );
    const unused = room.mayImport.filter((name) => !own.some(({ to }) => isOf(to, name)));
    assert.deepEqual(unused, []);
  });
}

function matchesPackage(to: string, name: string): boolean {
  return isPackage(to) && (name.endsWith('*') ? to.startsWith(name.slice(0, -1)) : to === name);
}

/** Where a process begins: the command, the program that runs one query, the one that builds row files, and the library. */
const ENTRIES = ['main.ts', 'run-sql.ts', 'row-file-builder.ts', 'publisher.ts'];

test('only the entries touch the environment, the clock, timers, randomness and signals', () => {
  // The timeout of a socket does not count. Node restarts it with each byte, so it cannot be passed in (cut-when-stalled.ts).
  const effects =
    /process\.env\b|Date\.now\(|new Date\(\)|performance\.now\(|Math\.random\(|AbortSignal\.timeout\(|(?<!\.)\bset(Timeout|Interval)\(|'(node:)?timers|process\.on\(|process\.exit\b/;
  const found = files.filter((path) => !ENTRIES.includes(path) && effects.test(texts.get(path) ?? ''));
  assert.deepEqual(found, []);
  const nextTurns = files.filter((path) => /\bsetImmediate\b/.test(texts.get(path) ?? ''));
  assert.deepEqual(nextTurns, ['domain/time.ts']);
});

test(`no source file is longer than ${LINES_MAX} lines, and each starts by saying what it is`, () => {
  for (const [path, text] of texts) {
    assert.ok(text.split('\n').length <= LINES_MAX, `src/${path} is longer than ${LINES_MAX} lines`);
    assert.match(text, /^\/\*\*/, `src/${path} has no paragraph on top`);
  }
});

test(`the pipeline has at most ${PIPELINE_LINES_MAX} lines`, () => {
  const lines = texts.get('results/pipeline.ts')?.split('\n').length ?? Number.POSITIVE_INFINITY;
  assert.ok(lines <= PIPELINE_LINES_MAX, `src/results/pipeline.ts has ${lines} lines`);
});

test('every imported package is declared: as a dependency if a service runs it, else at least for development', () => {
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
    undeclared(['test', 'scripts', 'bench', 'clients'], all, (path) => !path.includes('node_modules')),
    [],
  );
});

test('the TypeScript client imports its own files alone', () => {
  const folder = join(ROOT, 'clients/typescript/src');
  const foreign = readdirSync(folder).flatMap((path) =>
    [...readFileSync(join(folder, path), 'utf8').matchAll(/\bfrom\s+'([^']+)'|\bimport\('([^']+)'\)/g)]
      .map((match) => match[1] ?? match[2] ?? '')
      .filter((specifier) => !/^\.\/[\w-]+\.ts$/.test(specifier))
      .map((specifier) => `${path} imports ${specifier}`),
  );
  assert.deepEqual(foreign, []);
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

test('the rooms that compile SQL import nothing of the database driver', () => {
  const reached = new Set(imports.filter(({ from }) => isInside(from, 'results/compile')).map(({ to }) => to));
  for (const path of reached) {
    if (!isInside(path, 'duckdb')) continue;
    for (const { from, to } of imports) if (from === path) reached.add(to);
  }
  assert.ok(reached.has('duckdb/statement.ts'));
  assert.ok(!reached.has('@duckdb/node-api'), [...reached].join(', '));
});

test('no file imports itself through others', () => {
  const targets = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (done.has(path) || way.includes(path)) return;
    for (const { to } of targets.get(path) ?? []) visit(to, [...way, path]);
    done.add(path);
  };
  for (const path of files) visit(path, []);
  assert.deepEqual(circles, []);
});

/** The rows of the table under "The explorer": folders of web/, `web/` being the files that are in none. */
function webRooms(architecture: string): readonly Room[] {
  const [, section = ''] = architecture.split('\n## The explorer\n');
  const [table = ''] = section.split('\n## ');
  return [...table.matchAll(/^\| `web\/([^`]*)` \|.*\|([^|]*)\|$/gm)].map(([, path = '', allowed = '']) => ({
    path: withoutSlash(path),
    mayImport: [...allowed.matchAll(/`([^`]+)`/g)].map(([, name = '']) => (name === 'web/' ? '' : withoutSlash(name))),
  }));
}

test('the explorer: every folder of web/ imports what its row says, and nothing of the service', () => {
  const all = webRooms(readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8'));
  const sources = readdirSync(join(ROOT, 'web'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'),
  );
  const folderOf = (path: string) => (path.includes('/') ? dirname(path) : '');
  assert.deepEqual(new Set(sources.map(folderOf)), new Set(all.map(({ path }) => path)));
  const offenders = sources.flatMap((path) => {
    const text = readFileSync(join(ROOT, 'web', path), 'utf8');
    assert.ok(text.split('\n').length <= LINES_MAX, path);
    const { mayImport = [] } = all.find((room) => room.path === folderOf(path)) ?? {};
    return [...text.matchAll(/(?:\bfrom\s+|\bimport\s+|\bimport\()'([^']+)'/g)].flatMap(([, specifier = '']) => {
      const isOwn = specifier.startsWith('.');
      const to = isOwn
        ? folderOf(relative('.', join(dirname(path), specifier)))
        : specifier.replace(/^preact\/.*/, 'preact').replace(/^node:.*/, 'node:*');
      return to === folderOf(path) || mayImport.includes(to) ? [] : [`${path} imports ${specifier}`];
    });
  });
  assert.deepEqual(offenders, []);
});
