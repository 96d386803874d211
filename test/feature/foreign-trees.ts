/** Random trees of files and folders that are not the service's, planted around and inside its folders, and compared later. */
import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';

/** What is at a path: a file's bytes, a folder, or a link's target. */
export type Entry =
  | { readonly kind: 'file'; readonly content: string }
  | { readonly kind: 'folder' }
  | { readonly kind: 'link'; readonly target: string };

/** By path, relative to the folder that the tree is planted in. */
export type Tree = Readonly<Record<string, Entry>>;

/** A well-formed execution id that no run has. */
export const ULID = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';

/** Names that people give, and names that are nearly ours. */
const NAMES = [
  'mine.txt',
  'with a blank',
  'ünïcode €.csv',
  '.hidden',
  '-rf',
  'UPPER',
  'catalog.sqlite',
  'staging',
  'results',
  'part-00000.parquet',
  'part-1.parquet.partial',
  'pre-sample.parquet.bak',
  'installation.txt',
  '7',
  '007',
  ULID,
  ULID.toLowerCase(),
  `${ULID}.7`,
  `${ULID}.7.bak`,
  '2024-backup',
  'scratch-1-backup2',
  'points.1.parquet.old',
] as const;

const entry: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('file' as const), content: fc.string({ maxLength: 20 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'folder' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'link' as const, target: '../elsewhere' }) },
);

/** @param places folders, relative to where the tree is planted; each path begins with one of them */
export function foreignTree(places: readonly string[]): fc.Arbitrary<Tree> {
  const path = fc
    .tuple(fc.constantFrom(...places), fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }))
    .map(([place, names]) => join(place, ...names));
  return fc.array(fc.tuple(path, entry), { minLength: 1, maxLength: 12 }).map((entries) => Object.fromEntries(entries));
}

/** A file with exactly our kind of name, in its place in the store, is ours to delete. */
export function isOursInStore(path: string, { kind }: Entry): boolean {
  const [first, second, ...more] = path.split('/');
  if (first === undefined || first === '' || first === 'installation.txt') return true;
  if (first === 'staging')
    return second === undefined || (second === `${ULID}.7` && (kind !== 'file' || more.length > 0));
  if (first !== ULID) return false;
  // An empty folder with such a name is what a crash leaves.
  if (second === undefined || (second === '7' && more.length === 0)) return true;
  return second === '7' && more.length === 1 && more[0] === 'part-00000.parquet';
}

/** Plants the entries. A path below a file, or one for which `isOurs` holds, is left out. @returns what was planted */
export async function plant(root: string, tree: Tree, isOurs: (path: string, entry: Entry) => boolean): Promise<Tree> {
  const planted: Record<string, Entry> = {};
  for (const [path, found] of Object.entries(tree)) {
    if (isOurs(path, found)) continue;
    const absolute = join(root, path);
    try {
      await mkdir(dirname(absolute), { recursive: true });
      if (found.kind === 'folder') await mkdir(absolute);
      else if (found.kind === 'link') await symlink(found.target, absolute);
      else await writeFile(absolute, found.content, { flag: 'wx' });
      planted[path] = { ...found };
    } catch (error) {
      const codes: readonly unknown[] = ['EEXIST', 'ENOTDIR', 'ENOENT'];
      if (!(error instanceof Error && 'code' in error && codes.includes(error.code))) throw error;
    }
  }
  return planted;
}

/** What is now where the tree was planted. A path that is gone is missing here. */
export async function lookAgain(root: string, tree: Tree): Promise<Tree> {
  const found: Record<string, Entry> = {};
  for (const path of Object.keys(tree)) {
    const absolute = join(root, path);
    const stats = await lstat(absolute).catch(() => undefined);
    if (stats?.isDirectory()) found[path] = { kind: 'folder' };
    else if (stats?.isSymbolicLink()) found[path] = { kind: 'link', target: await readlink(absolute) };
    else if (stats?.isFile()) found[path] = { kind: 'file', content: await readFile(absolute, 'utf8') };
  }
  return found;
}

/** Every path below a folder. */
export async function pathsBelow(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}
