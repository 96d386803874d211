/** What to declare for a column whose type would round a value: the end of the message that refuses it. */
import { type ColumnType, formatColumnType } from '../../domain/column-type.ts';

/** The nanoseconds since 1970 that timestamp(9) holds. */
const NANOS_MIN = -9_223_286_400_000_000_000n;
const NANOS_MAX = 9_223_372_036_854_775_806n;

/** @param value as the refusal tells it; '' where there is nothing to declare */
export function declareInstead(type: ColumnType, value: string): string {
  if (isWholeBeyond(type, value)) return ', which would round it: declare bigint, decimal or varchar';
  const nanos = /^(-?[0-9]+) nanoseconds since 1970$/.exec(value)?.[1];
  if (nanos === undefined || BigInt(nanos) < NANOS_MIN || BigInt(nanos) > NANOS_MAX) return '';
  const [before, finer] = [formatColumnType(type), formatColumnType(inNanos(type))];
  if (before === finer) return '';
  return `, which would round it: declare ${finer}${hasZone(type) ? ', which is in UTC' : ''}`;
}

/** Whether a whole number did not fit a double, which has fewer digits. NDJSON tells texts in their quotes. */
function isWholeBeyond({ kind }: ColumnType, value: string): boolean {
  return (kind === 'double' || kind === 'real') && /^"?[-+]?[0-9]{1,300}"?$/.test(value);
}

/** The type with nanoseconds in place of microseconds. */
function inNanos(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'timestamp':
      return type.digits === 6 ? { kind: 'timestamp', digits: 9, withZone: false } : type;
    case 'array':
      return { ...type, element: inNanos(type.element) };
    case 'map':
      return { ...type, key: inNanos(type.key), value: inNanos(type.value) };
    case 'row':
      return { ...type, fields: type.fields.map(({ name, type: inner }) => ({ name, type: inNanos(inner) })) };
    default:
      return type;
  }
}

function hasZone(type: ColumnType): boolean {
  switch (type.kind) {
    case 'timestamp':
      return type.withZone;
    case 'array':
      return hasZone(type.element);
    case 'map':
      return hasZone(type.key) || hasZone(type.value);
    case 'row':
      return type.fields.some((field) => hasZone(field.type));
    default:
      return false;
  }
}
