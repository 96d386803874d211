/**
 * The result store on a local disk: an object is a file below the root folder, at the path its key says.
 * What of it has been checked is kept in `verified-files.ts`.
 */
import { randomUUID } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rm, rmdir, stat, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { RowRange } from '../../domain/blocks.ts';
import { NEVER } from '../../domain/time.ts';
import { NotReady } from '../../errors/not-ready.ts';
import { StartupError } from '../../errors/startup-error.ts';
import { codeOf, hasCode, isMissing, isUnreadable } from '../../errors/system-code.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { folderUnusable, makeWorkspace } from '../../files/workspace.ts';
import { INSTALLATION, isKeySegment, objectPath, SEGMENTS_MAX, STAGING } from '../object-path.ts';
import { OpenObjects } from '../open-objects.ts';
import { requireSameBytes } from '../require-same-bytes.ts';
import {
  ObjectDamaged,
  type ObjectRef,
  type OpenObject,
  type ResultStore,
  type StoredObject,
} from '../result-store.ts';
import { VerifiedFiles } from '../verified-files.ts';
import { moveDurably } from './durable-move.ts';

/** Names of files that only show that a file can be written. */
const PROBE = '.probe-';

const NO_OBJECTS: ReadonlySet<string> = new Set([STAGING, INSTALLATION]);

const ABOUT_INSTALLATION = `The results in this folder belong to the catalog of the Query Results Service that has this id.
A service that finds another id here stops, so that it deletes nothing that is not its own.
`;

export class LocalResultStore implements ResultStore {
  readonly #root: string;
  readonly #verified = new VerifiedFiles();
  readonly #opened = new OpenObjects();

  private constructor(root: string) {
    this.#root = root;
  }

  /** @param root folder of the objects; made when it is not there */
  static async open(root: string): Promise<LocalResultStore> {
    const absolute = resolve(root);
    await mkdir(absolute, { recursive: true });
    return new LocalResultStore(absolute);
  }

  async check(): Promise<void> {
    await this.#requireRoot();
    const probe = join(this.#root, STAGING, `${PROBE}${randomUUID()}`);
    try {
      await access(this.#root, constants.R_OK | constants.W_OK | constants.X_OK);
      await makeFolder(dirname(probe));
      await writeFile(probe, 'written to see whether it can be\n', { mode: 0o600 });
    } catch (error) {
      const code = codeOf(error);
      const said = code === undefined ? '' : ` (${code})`;
      throw new NotReady(`nothing can be written to it${said}`, { cause: error });
    } finally {
      await rm(probe, { force: true }).catch(() => undefined);
    }
    const { bavail } = await statfs(this.#root);
    if (bavail === 0) throw new NotReady('its disk has no space left');
  }

  /** There is nobody to refuse it but the folder, which `check` reads. */
  async checkList(): Promise<void> {}

  /** A root that is gone is never made anew: an empty store would look like one whose objects are all damaged. */
  async #requireRoot(): Promise<void> {
    const there = await stat(this.#root).catch(unlessMissing);
    if (there?.isDirectory() !== true) throw new NotReady('its folder is gone');
  }

  async findInstallation(): Promise<string | undefined> {
    const path = join(this.#root, INSTALLATION);
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      // As after a restore by another user.
      if (!isUnreadable(error)) return unlessMissing(error);
      const problem = `${path}, which says whose results these are, cannot be read; give this user the right to, or restore it from a backup`;
      throw new StartupError(`${problem} (${codeOf(error)})`, { cause: error });
    });
    const id = text?.split('\n', 1)[0]?.trim();
    return id === '' ? undefined : id;
  }

  async setInstallation(id: string): Promise<void> {
    const path = join(this.#root, STAGING, `${INSTALLATION}.${randomUUID()}`);
    await makeWorkspace(dirname(path));
    await writeFile(path, `${id}\n\n${ABOUT_INSTALLATION}`, { mode: 0o600 });
    await moveDurably(path, join(this.#root, INSTALLATION), this.#root, { mayReplace: true }, NEVER);
  }

  async put(key: string, path: string, signal: AbortSignal): Promise<void> {
    const to = objectPath(this.#root, key);
    await this.#requireRoot();
    try {
      if (await moveDurably(path, to, this.#root, { mayReplace: false }, signal)) return;
    } catch (error) {
      throw await folderUnusable(dirname(to), error);
    }
    await requireSameBytes(this, key, path, signal);
    await rm(path);
  }

  async open(object: ObjectRef, rows: RowRange, signal: AbortSignal): Promise<OpenObject> {
    const path = objectPath(this.#root, object.key);
    const opened = await this.#opened.open(object.key);
    try {
      await this.#verified.require(object, path, rows, signal);
    } catch (error) {
      opened[Symbol.dispose]();
      throw error;
    }
    return {
      path,
      requireIntact: () => this.#requireIntact(object, path, rows),
      [Symbol.asyncDispose]: async () => opened[Symbol.dispose](),
    };
  }

  async #requireIntact(object: ObjectRef, path: string, rows: RowRange): Promise<void> {
    try {
      await this.#verified.requireIntact(object, path, rows);
    } catch (error) {
      // What was read of a file before it was removed is right.
      if (!(error instanceof ObjectDamaged && error.isMissing)) throw error;
    }
  }

  /** Nothing has to be fetched. */
  async prefetch(): Promise<void> {}

  async verify(object: ObjectRef, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#verified.verifyWhole(object, objectPath(this.#root, object.key), signal);
  }

  async findMissing(keys: readonly string[]): Promise<readonly string[]> {
    const missing: string[] = [];
    for (const key of keys) {
      // What cannot be read is there; a read says so.
      const isThere = (error: unknown) => isUnreadable(error) || unlessMissing(error);
      const found = await stat(objectPath(this.#root, key)).then((stats) => stats.isFile(), isThere);
      if (found !== true) missing.push(key);
    }
    return missing;
  }

  async findUnreadable(keys: readonly string[]): Promise<readonly string[]> {
    const unreadable: string[] = [];
    for (const key of keys) {
      const path = objectPath(this.#root, key);
      const refused = await access(path, constants.R_OK).then(() => false, isUnreadable);
      if (refused) unreadable.push(key);
    }
    return unreadable;
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const folder = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    for await (const object of this.#walk(folder === '' ? this.#root : objectPath(this.#root, folder))) {
      if (object.key.startsWith(prefix)) yield object;
    }
  }

  async delete(keys: readonly string[]): Promise<readonly string[]> {
    const folders = new Set<string>();
    const kept: string[] = [];
    for (const key of keys) {
      const path = objectPath(this.#root, key);
      if (await this.#opened.deleteUnlessOpen(key, () => rm(path, { force: true }))) {
        this.#verified.forget(key);
        folders.add(dirname(path));
      } else kept.push(key);
    }
    for (const folder of folders) await this.#removeUpwards(folder);
    return kept;
  }

  async removeEmptyFolders(mayRemove: (prefix: string) => Promise<boolean>): Promise<void> {
    // What is in a folder comes first, since it may be all that is: of the many that hold results nobody has to be asked.
    const isEmptied = async (folder: string, depth: number): Promise<boolean> => {
      let emptied = true;
      for (const entry of await entriesOf(folder)) {
        const path = join(folder, entry.name);
        const isRemoved =
          entry.isDirectory() &&
          depth < SEGMENTS_MAX &&
          (await isEmptied(path, depth + 1)) &&
          (await mayRemove(`${this.#keyOf(path)}/`)) &&
          (await removeIfEmpty(path));
        emptied &&= isRemoved;
      }
      return emptied;
    };
    await isEmptied(this.#root, 0);
  }

  /** The folder and those above it, as far as they are empty. */
  async #removeUpwards(folder: string): Promise<void> {
    for (let above = folder; above !== this.#root; above = dirname(above)) {
      if (!(await removeIfEmpty(above))) return;
    }
  }

  async *#walk(folder: string, depth = 1): AsyncGenerator<StoredObject> {
    if (depth > SEGMENTS_MAX) return;
    for (const entry of await entriesOf(folder)) {
      if (!isKeySegment(entry.name) || (depth === 1 && NO_OBJECTS.has(entry.name))) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) yield* this.#walk(path, depth + 1);
      else if (entry.isFile()) {
        const stats = await stat(path).catch(unlessMissing);
        // Deleted while we looked: then it is not in the list.
        if (stats === undefined) continue;
        yield { key: this.#keyOf(path), objectBytes: stats.size, modifiedAt: stats.mtimeMs };
      }
    }
  }

  #keyOf(path: string): string {
    return relative(this.#root, path).split(sep).join('/');
  }
}

/** What is in a folder; nothing when it is not there any more, or not ours to look into. */
async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error) || isForbidden(error)) return [];
    throw error;
  }
}

/** @returns whether it is gone */
async function removeIfEmpty(folder: string): Promise<boolean> {
  try {
    await rmdir(folder);
    return true;
  } catch {
    // Not empty, or not ours to remove: either way it stays.
    return false;
  }
}

function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

function isForbidden(error: unknown): boolean {
  return hasCode(error, 'EACCES', 'EPERM');
}
