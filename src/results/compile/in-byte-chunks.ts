/**
 * Long texts as several chunks of bytes. A value comes from DuckDB in one turn of the event loop, a megabyte of it in about 1.5 ms, so
 * that one of 100 MB would hold up every other request.
 */
import type { Statement } from '../../duckdb/statement.ts';

const CHUNK_BYTES = 2 * 1024 * 1024;

/**
 * The answer of a statement that gives one row of four values, the first of them bytes: a row for each chunk of the bytes, each with the
 * other three values.
 */
export function inByteChunks({ text, values }: Statement): Statement {
  const cut = `list_transform(range(0, octet_length(bytes), ${CHUNK_BYTES}), lambda at_byte: bytes[at_byte + 1:at_byte + ${CHUNK_BYTES}])`;
  return {
    text: [
      `SELECT unnest(CASE WHEN octet_length(bytes) > ${CHUNK_BYTES} THEN ${cut} ELSE [bytes] END), second, third, fourth`,
      `FROM (${text}) AS answer(bytes, second, third, fourth)`,
    ].join(' '),
    values,
    isLong: true,
  };
}
