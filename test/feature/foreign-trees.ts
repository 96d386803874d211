/** Random trees of files and folders that are not the service's, planted around and inside of its folders, and looked at again later. */
import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import fc from 'fast-check';

/** What stands at a path: a file's bytes, a folder, or what a link points to. */
export type Entry =
  | { readonly kind: 'file'; readonly content: string }
  | { readonly kind: 'folder' }
  | { readonly kind: 'link'; readonly target: string };

/** By path, relative to the folder that the tree is planted in. */
export type Tree = Readonly<Record<string, Entry>>;

/** A run's id, of which no run is. */
export const ULID = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';

/** Names that people give, and names that nearly are ours. */
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

/** @param places folders, relative to where the tree is planted, of which each path begins with one */
export function foreignTree(places: readonly string[]): fc.Arbitrary<Tree> {
  const path = fc
    .tuple(fc.constantFrom(...places), fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }))
    .map(([place, names]) => join(place, ...names));
  return fc.array(fc.tuple(path, entry), { minLength: 1, maxLength: 12 }).map((entries) => Object.fromEntries(entries));
}

/** What bears exactly a name of ours at its very place in the store is ours to delete, or was there before. */
export function isOursInStore(path: string, { kind }: Entry): boolean {
  const [first, second, ...more] = path.split('/');
  if (first === undefined || first === '' || first === 'installation.txt') return true;
  if (first === 'staging')
    return second === undefined || (second === `${ULID}.7` && (kind !== 'file' || more.length > 0));
  if (first !== ULID) return false;
  // An empty folder of such a name is what a crash leaves.
  if (second === undefined || (second === '7' && more.length === 0)) return true;
  return second === '7' && more.length === 1 && more[0] === 'part-00000.parquet';
}

/** Plants what fits: a path below a file, or one that `isOurs`, is left out. @returns what was planted */
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

/** What now stands where the tree was planted; what is missing is missing here, too. */
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
