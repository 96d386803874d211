/** How values are spelled in JSON (contract §6), written down a second time, for plain cells. */
import type { ColumnType } from '../../src/domain/column-type.ts';
import type { ExactValue } from './exact-json.ts';
import type { Cell } from './naive-interpreter.ts';
import { decimalText } from './random-results.ts';

const DAY = 86_400_000_000_000n;

/**
 * Whether the value, as `parseExact` reads it, is the cell's spelling. Any spelling of times of day and intervals is accepted.
 */
export function isSpelling(value: ExactValue | undefined, cell: Cell, type: ColumnType): boolean {
  if (cell === null) return value === null;
  switch (cell.kind) {
    case 'boolean':
      return value === cell.value;
    case 'exact': {
      const isText = ['hugeint', 'uint256', 'int256', 'decimal'].includes(type.kind);
      return value === `${isText ? 's' : 'n'}${decimalText(cell.units, cell.scale)}`;
    }
    case 'float': {
      if (typeof value !== 'string') return false;
      if (!Number.isFinite(cell.value)) return value === `s${cell.value}`;
      const read = Number(value.slice(1));
      // There is one zero, so −0 is spelled 0.
      if (Object.is(read, -0)) return false;
      return value.startsWith('n') && (type.kind === 'real' ? Math.fround(read) : read) === cell.value;
    }
    case 'text':
    case 'uuid':
      return value === `s${cell.text}`;
    case 'bytes':
      return value === `s0x${cell.hex}`;
    case 'instant':
      return value === `s${instantText(cell.nanos, type)}`;
    case 'list': {
      const element = type.kind === 'array' ? type.element : type;
      if (!Array.isArray(value) || value.length !== cell.elements.length) return false;
      return cell.elements.every((member, i) => isSpelling(value[i], member, element));
    }
    default:
      return typeof value === 'string' && value.startsWith('s');
  }
}

function instantText(nanos: bigint, type: ColumnType): string {
  const ofDay = ((nanos % DAY) + DAY) % DAY;
  const date = new Date(Number((nanos - ofDay) / 1_000_000n)).toISOString().slice(0, 10);
  if (type.kind !== 'timestamp') return date;
  const clock = new Date(Number(ofDay / 1_000_000_000n) * 1000).toISOString().slice(11, 19);
  const fraction = String(ofDay % 1_000_000_000n).padStart(9, '0');
  return `${date} ${clock}.${fraction.slice(0, type.digits)}${type.withZone ? ' UTC' : ''}`;
}
