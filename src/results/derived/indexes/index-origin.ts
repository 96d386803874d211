/** What an index is made from. Its file name is derived from that. */
import { createHash } from 'node:crypto';
import type { ResultSet } from '../../../domain/result-set.ts';
import { derivedName } from '../../../domain/written-names.ts';
import type { ColumnRef } from '../../plan/predicate.ts';

/** Raise it when the format changes: then files have other names, and old files are not read. */
const FORMAT = 3;
const IDENTITY_DIGITS = 16;

export interface IndexOrigin {
  readonly executionId: string;
  readonly resultSet: ResultSet;
  readonly column: ColumnRef;
  /** The name of the index's file. */
  readonly name: string;
}

export function indexOrigin(executionId: string, resultSet: ResultSet, column: ColumnRef): IndexOrigin {
  const made = JSON.stringify([FORMAT, column.type, resultSet.parts.map(({ sha256 }) => sha256)]);
  const identity = createHash('sha256').update(made).digest('hex').slice(0, IDENTITY_DIGITS);
  return { executionId, resultSet, column, name: derivedName(executionId, `c${column.index}`, identity, 'index') };
}
