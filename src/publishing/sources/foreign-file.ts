/**
 * Files that are no table, known by their first bytes. Read as CSV, many of them would pass: a page of HTML is a column of text.
 * Each is named, with what to do instead.
 */
import { PublishError } from '../publish-error.ts';

/** Bytes of a file's start that are enough to know it by. */
export const HEAD_BYTES = 4096;

interface Signature {
  /** One character a byte. */
  readonly bytes: string;
  /** Where they stand. */
  readonly at?: number;
  readonly what: string;
  readonly instead: string;
}

const UNPACK = 'unpack it, and publish the file inside';
const EXPORT_CSV = 'export a table of it as CSV';
const EXPORT_SHEET = 'save the sheet as CSV (UTF-8)';
const NO_TABLE = 'publish a Parquet, CSV or NDJSON file';
const TO_PARQUET = 'convert it to Parquet';

const SIGNATURES: readonly Signature[] = [
  { bytes: 'PK\x05\x06', what: 'an empty zip archive', instead: UNPACK },
  { bytes: 'PK\x07\x08', what: 'a zip archive', instead: UNPACK },
  { bytes: 'BZh', what: 'compressed by bzip2', instead: 'decompress it (bunzip2); gzip and zstd are read as they are' },
  {
    bytes: '\xfd7zXZ\0',
    what: 'compressed by xz',
    instead: 'decompress it (unxz); gzip and zstd are read as they are',
  },
  {
    bytes: '\x04\x22\x4d\x18',
    what: 'compressed by lz4',
    instead: 'decompress it; gzip and zstd are read as they are',
  },
  { bytes: '7z\xbc\xaf\x27\x1c', what: 'a 7z archive', instead: UNPACK },
  { bytes: 'Rar!', what: 'a RAR archive', instead: UNPACK },
  { bytes: 'ustar', at: 257, what: 'a tar archive', instead: UNPACK },
  { bytes: '\xd0\xcf\x11\xe0', what: 'an old Office file (such as xls)', instead: EXPORT_SHEET },
  { bytes: '%PDF', what: 'a PDF document', instead: NO_TABLE },
  { bytes: 'SQLite format 3\0', what: 'an SQLite database', instead: EXPORT_CSV },
  { bytes: 'DUCK', at: 8, what: 'a DuckDB database', instead: 'export a table of it as Parquet' },
  { bytes: 'ARROW1', what: 'an Arrow (Feather) file', instead: TO_PARQUET },
  { bytes: 'FEA1', what: 'a Feather file', instead: TO_PARQUET },
  { bytes: 'ORC', what: 'an ORC file', instead: TO_PARQUET },
  { bytes: 'Obj\x01', what: 'an Avro file', instead: TO_PARQUET },
  { bytes: '\x89HDF', what: 'an HDF5 file', instead: TO_PARQUET },
  { bytes: '\x89PNG', what: 'an image', instead: NO_TABLE },
  { bytes: '\xff\xd8\xff', what: 'an image', instead: NO_TABLE },
  { bytes: 'GIF8', what: 'an image', instead: NO_TABLE },
  { bytes: '\x7fELF', what: 'a program', instead: NO_TABLE },
];

/** @throws PublishError when the file that starts so is known to be no table */
export function refuseForeign(head: Buffer): void {
  const text = head.toString('latin1');
  const found = SIGNATURES.find(({ bytes, at = 0 }) => text.startsWith(bytes, at) && !isText(head, bytes));
  if (found !== undefined) throw new PublishError(`the file is ${found.what}: ${found.instead}`);
  if (text.startsWith('PK\x03\x04')) {
    const isSheet = /\[Content_Types\]\.xml|xl\/|_rels\/|mimetypeapplication\/vnd\.oasis/.test(text);
    throw new PublishError(
      isSheet
        ? `the file is a spreadsheet or another Office file: ${EXPORT_SHEET}`
        : `the file is a zip archive: ${UNPACK}`,
    );
  }
  const markup = /^(?:\xef\xbb\xbf)?\s*<(!doctype html|html|head|body|\?xml|!--|[a-z][a-z0-9:]*[\s>/])/i.exec(
    text,
  )?.[1];
  if (markup === undefined) return;
  throw new PublishError(
    /^(!doctype html|html|head|body)/i.test(markup)
      ? `the file is a page of HTML, perhaps an error page or a login page saved by mistake: ${NO_TABLE}`
      : `the file is XML or HTML: ${NO_TABLE}`,
  );
}

/** A signature of letters alone may begin a header line: ORC,status or BZh,… are columns where all bytes are text. */
function isText(head: Buffer, signature: string): boolean {
  return (
    /^[A-Za-z0-9!%]+$/.test(signature) && !signature.startsWith('%') && !head.some((byte) => byte < 9 || byte === 127)
  );
}
