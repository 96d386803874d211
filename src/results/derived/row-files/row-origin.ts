/** What row files are made from: a stored result, whose row files outlive the process, or a view, whose row files go with it. */
import { createHash } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { ResultSet } from '../../../domain/result-set.ts';
import { allRowsOf, type Part } from '../../../domain/result-set.ts';
import { derivedName } from '../../../domain/written-names.ts';
import type { OpenObject, ResultStore } from '../../../store/result-store.ts';
import type { DerivedFiles } from '../derived-files.ts';
import type { OpenView } from '../views/view-cache.ts';
import { ROW_FILE_VERSION } from './row-file-format.ts';

export interface RowOrigin {
  /** Of the result or view. */
  readonly id: string;
  readonly executionId: string;
  readonly resultSet: ResultSet;
  /** The path of the part's row file, whether it exists or not, and the identity that it must have. */
  fileOf(part: Part): { readonly path: string; readonly identity: string };
  /** Keeps the parts there while row files are made from them; undefined where they are gone. */
  hold(): Disposable | undefined;
  /** A local file with the part's rows, all of them checked. */
  open(part: Part, signal: AbortSignal): Promise<OpenObject>;
  /** Whether another process is making the part's row file. */
  isMadeElsewhere(part: Part): Promise<boolean>;
  /** Where the part's row file is written before it is published. */
  stagingPath(part: Part): string;
  publish(part: Part, staged: string, bytes: number): Promise<void>;
  remove(part: Part): Promise<void>;
  touch(part: Part): Promise<void>;
}

const KIND = 'rows';
const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/** @param encoder the versions of everything that encodes values: another version may spell a value differently */
export function storedOrigin(
  executionId: string,
  resultSet: ResultSet,
  {
    store,
    files,
    encoder,
  }: { readonly store: Pick<ResultStore, 'open'>; readonly files: DerivedFiles; readonly encoder: string },
): RowOrigin {
  const fileOf = oncePerPart((part) => {
    const identity = identityFrom([encoder, part.sha256, part.rowCount, resultSet.columns]);
    const of = basename(part.key, '.parquet').toLowerCase();
    const name = derivedName(executionId, of, identity.slice(0, 16), KIND);
    return { name, path: files.pathOf(name), identity };
  });
  return {
    id: executionId,
    executionId,
    resultSet,
    fileOf,
    hold: () => NOTHING,
    open: (part, signal) => store.open(part, allRowsOf(part), signal),
    stagingPath: (part) => files.stagingPath(fileOf(part).name),
    isMadeElsewhere: (part) => files.isMadeElsewhere(fileOf(part).name),
    publish: (part, staged) => files.publish(fileOf(part).name, staged),
    remove: (part) => files.remove(fileOf(part).name),
    touch: (part) => files.touch(fileOf(part).name),
  };
}

/** Paths of a view's parts are never used again, so the path is the identity. */
export function viewOrigin(executionId: string, view: OpenView): RowOrigin {
  const pathOf = ({ key }: Part) => `${key}.${KIND}`;
  return {
    id: view.identity,
    executionId,
    resultSet: view.resultSet,
    fileOf: oncePerPart((part) => ({ path: pathOf(part), identity: identityFrom([part.key]) })),
    hold: () => view.hold(),
    open: view.openPart,
    stagingPath: (part) => `${pathOf(part)}.new`,
    isMadeElsewhere: async () => false,
    publish: async (part, staged, bytes) => {
      await rename(staged, pathOf(part));
      view.grew(bytes);
    },
    remove: async (part) => await rm(pathOf(part), { force: true }),
    touch: async () => undefined,
  };
}

/** Each page asks for it. */
function oncePerPart<T>(make: (part: Part) => T): (part: Part) => T {
  const made = new Map<Part, T>();
  return (part) => {
    const known = made.get(part);
    if (known !== undefined) return known;
    const first = make(part);
    made.set(part, first);
    return first;
  };
}

function identityFrom(of: readonly unknown[]): string {
  return createHash('sha256')
    .update(JSON.stringify([ROW_FILE_VERSION, ...of]))
    .digest('hex');
}
