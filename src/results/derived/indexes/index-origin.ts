/** What an index is made from. The name of its file is derived from that, and the file says it, too. */
import { createHash } from 'node:crypto';
import type { ResultSet } from '../../../domain/result-set.ts';
import { derivedName } from '../../../domain/written-names.ts';
import type { ColumnRef } from '../../plan/predicate.ts';
import { IDENTITY_BYTES } from './index-format.ts';

/** Raise it when the format changes: then files have other names, and old files are not read. */
const FORMAT = 4;
const IDENTITY_DIGITS = 2 * IDENTITY_BYTES;

export interface IndexOrigin {
  readonly executionId: string;
  readonly resultSet: ResultSet;
  readonly column: ColumnRef;
  /** Hex, another for each column and all that an index depends on. */
  readonly identity: string;
  /** The name of the index's file. */
  readonly name: string;
}

export function indexOrigin(executionId: string, resultSet: ResultSet, column: ColumnRef): IndexOrigin {
  const made = JSON.stringify([FORMAT, column.index, column.type, resultSet.parts.map(({ sha256 }) => sha256)]);
  const identity = createHash('sha256').update(made).digest('hex').slice(0, IDENTITY_DIGITS);
  const name = derivedName(executionId, `c${column.index}`, identity, 'index');
  return { executionId, resultSet, column, identity, name };
}
