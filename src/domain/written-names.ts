/**
 * The names of what publishing writes, and of what is derived from it, made and recognised in one place. The sweep deletes only what bears
 * exactly such a name: whatever else lies in the store is somebody else's and stays.
 */
import { executionOfWriter } from './lease-names.ts';

/** The lease of whoever writes. */
interface Writer {
  readonly resource: string;
  readonly token: number;
}

/** Execution ids as they are made, in capitals; and the lease's token, without leading zeros. */
const EXECUTION_ID = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
const TOKEN = '[1-9][0-9]{0,15}';
/** `.partial` is what a copy from another filesystem is called until it is whole. */
const OBJECT_KEY = new RegExp(
  `^((${EXECUTION_ID})/${TOKEN}/)(?:part-[0-9]{5,}\\.(?:parquet|bloom)|pre-sample\\.parquet)(?:\\.partial)?$`,
);
const WRITER_FOLDER = new RegExp(`^${EXECUTION_ID}/(?:${TOKEN}/)?$`);
const DERIVED_FILE = new RegExp(`^(${EXECUTION_ID})\\.[0-9a-z-]+\\.[0-9a-f]{16}\\.[a-z]+$`);
const STAGING_FOLDER = new RegExp(`^${EXECUTION_ID}\\.${TOKEN}$`);

/**
 * The prefix of a writer's objects. The token makes it that writer's own: one that lost its lease can never touch what its
 * successor for the same execution writes.
 */
export function writerPrefix(writer: Writer): string {
  return `${executionOfWriter(writer)}/${writer.token}/`;
}

export function partKey(prefix: string, index: number): string {
  return `${prefix}part-${String(index).padStart(5, '0')}.parquet`;
}

/** Of the Bloom filters of the part with this key. */
export function bloomFiltersKey(ofPart: string): string {
  return ofPart.replace(/\.parquet$/, '.bloom');
}

export function preSampleKey(prefix: string): string {
  return `${prefix}pre-sample.parquet`;
}

/** The name of a writer's folder in the staging directory. */
export function stagingName(writer: Writer): string {
  return `${executionOfWriter(writer)}.${writer.token}`;
}

/** Whose object this is by its name; undefined for what publishing never wrote. */
export function writerOfKey(key: string): { readonly prefix: string; readonly executionId: string } | undefined {
  const [, prefix, executionId] = OBJECT_KEY.exec(key) ?? [];
  return prefix === undefined || executionId === undefined ? undefined : { prefix, executionId };
}

/** Whether a folder is that of an execution or of one of its writers. @param prefix ends in a slash */
export function isWriterFolder(prefix: string): boolean {
  return WRITER_FOLDER.test(prefix);
}

export function isStagingName(name: string): boolean {
  return STAGING_FOLDER.test(name);
}

/**
 * The name of a file that was made from a stored result.
 * @param of which part or column of the result: lower-case letters, digits and hyphens
 * @param identity lower-case hex of 16 digits, another for all that would have made it with other bytes
 * @param kind what it is, as the ending of its name: lower-case letters
 */
export function derivedName(executionId: string, of: string, identity: string, kind: string): string {
  return `${executionId}.${of}.${identity}.${kind}`;
}

/** The execution whose result a derived file was made from; undefined for files of other names, which are not ours. */
export function executionOfDerived(name: string): string | undefined {
  return DERIVED_FILE.exec(name)?.[1];
}
