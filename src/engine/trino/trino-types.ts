/**
 * Trino's types → column types, and how their values travel in the JSON of its protocol: as texts, numbers, or lists and objects of
 * these. A type that a result cannot hold exactly is refused, with the column and what to write instead.
 */
import { COLUMN_TYPE_DEPTH_MAX, type ColumnType } from '../../domain/column-type.ts';
import { EngineError } from '../engine.ts';

/** A type as the coordinator describes it: `timestamp with time zone` with the argument 3. */
export interface TypeSignature {
  readonly rawType: string;
  readonly arguments: readonly { readonly kind: string; readonly value: unknown }[];
}

/** A column type, and what its values look like in JSON. */
export type WireType =
  | { readonly kind: 'scalar'; readonly type: ColumnType; readonly form: ScalarForm }
  | { readonly kind: 'array'; readonly element: WireType }
  | { readonly kind: 'map'; readonly key: WireType; readonly value: WireType }
  /** In JSON a list of the fields' values. */
  | { readonly kind: 'row'; readonly fields: readonly { readonly name: string; readonly type: WireType }[] };

/**
 * `plain`: as results spell it. `zoned`: a blank stands before the offset. `months`: `-1-2` is minus a year and two months. `days`:
 * `1 02:03:04.500`.
 */
export type ScalarForm = 'plain' | 'base64' | 'zoned' | 'months' | 'days';

const PLAIN = [
  'boolean',
  'tinyint',
  'smallint',
  'integer',
  'bigint',
  'real',
  'double',
  'date',
  'uuid',
  'json',
] as const;
/** Their values travel as texts that say all they hold. */
const TEXTS = ['varchar', 'char', 'ipaddress', 'Geometry', 'SphericalGeography'];
/** Kinds of map keys that Trino spells as it spells values. */
const KEYS: readonly ColumnType['kind'][] = [
  'boolean',
  'tinyint',
  'smallint',
  'integer',
  'bigint',
  'real',
  'double',
  'decimal',
  'varchar',
  'uuid',
  'date',
  'timestamp',
];
/** @throws EngineError when a result cannot have such a column */
export function wireTypeOf(column: string, signature: TypeSignature): WireType {
  return convert(signature, 0, (problem) => {
    const type = spelled(signature, 0);
    return new EngineError(
      'syntax_error',
      `a result cannot have the column ${JSON.stringify(column)} of type ${type}: ${problem}`,
    );
  });
}

export function columnTypeOf(wire: WireType): ColumnType {
  switch (wire.kind) {
    case 'scalar':
      return wire.type;
    case 'array':
      return { kind: 'array', element: columnTypeOf(wire.element) };
    case 'map':
      return { kind: 'map', key: columnTypeOf(wire.key), value: columnTypeOf(wire.value) };
    case 'row':
      return { kind: 'row', fields: wire.fields.map(({ name, type }) => ({ name, type: columnTypeOf(type) })) };
    default:
      return wire satisfies never;
  }
}

type Refuse = (problem: string) => EngineError;

function convert(signature: TypeSignature, depth: number, refuse: Refuse): WireType {
  if (depth > COLUMN_TYPE_DEPTH_MAX) throw refuse(`it is nested more than ${COLUMN_TYPE_DEPTH_MAX} deep`);
  const { rawType } = signature;
  const plain = PLAIN.find((kind) => kind === rawType);
  if (plain !== undefined) return scalar({ kind: plain });
  if (TEXTS.includes(rawType)) return scalar({ kind: 'varchar' });
  const inner = (index: number) => convert(typeArgument(signature, index, refuse), depth + 1, refuse);
  switch (rawType) {
    // The type of NULL alone.
    case 'unknown':
      return scalar({ kind: 'integer' });
    case 'varbinary':
      return scalar({ kind: 'varbinary' }, 'base64');
    case 'decimal':
      return scalar({
        kind: 'decimal',
        precision: numberArgument(signature, 0, 38),
        scale: numberArgument(signature, 1, 0),
      });
    case 'interval day to second':
      return scalar({ kind: 'interval' }, 'days');
    case 'interval year to month':
      return scalar({ kind: 'interval' }, 'months');
    case 'time':
    case 'time with time zone':
      return timeOfDay(signature, refuse);
    case 'timestamp':
    case 'timestamp with time zone':
      return instant(signature, refuse);
    case 'array':
      return { kind: 'array', element: inner(0) };
    case 'map':
      return mapOf(inner(0), inner(1), refuse);
    case 'row':
      return { kind: 'row', fields: fieldsOf(signature, depth, refuse) };
    default:
      throw refuse('cast it in the SQL');
  }
}

function scalar(type: ColumnType, form: ScalarForm = 'plain'): WireType {
  return { kind: 'scalar', type, form };
}

/** Results hold microseconds of the day. */
function timeOfDay(signature: TypeSignature, refuse: Refuse): WireType {
  const withZone = signature.rawType !== 'time';
  if (numberArgument(signature, 0, 3) > 6)
    throw refuse(`cast it to time(6)${withZone ? ' with time zone' : ''} or to varchar`);
  return scalar({ kind: 'time', withZone });
}

function instant(signature: TypeSignature, refuse: Refuse): WireType {
  const withZone = signature.rawType !== 'timestamp';
  const precision = numberArgument(signature, 0, 3);
  const digits = ([3, 6, 9] as const).find((most) => precision <= most);
  if (digits === undefined || (digits === 9 && withZone)) {
    throw refuse(`cast it to timestamp(${withZone ? '6) with time zone' : '9)'} or to varchar`);
  }
  return scalar({ kind: 'timestamp', digits, withZone }, withZone ? 'zoned' : 'plain');
}

function mapOf(key: WireType, value: WireType, refuse: Refuse): WireType {
  if (key.kind !== 'scalar' || key.form !== 'plain' || !KEYS.includes(key.type.kind)) {
    throw refuse('cast the keys of the map to varchar');
  }
  return { kind: 'map', key, value };
}

function fieldsOf(
  signature: TypeSignature,
  depth: number,
  refuse: Refuse,
): Extract<WireType, { kind: 'row' }>['fields'] {
  return signature.arguments.map(({ value }, index) => {
    const { fieldName, typeSignature } = value as NamedType;
    // As Trino calls a field without a name when the row is cast to JSON.
    const name = fieldName?.name ?? `field${index}`;
    if (!isSignature(typeSignature)) throw refuse('Trino describes it in a way that is not known here');
    return { name, type: convert(typeSignature, depth + 1, refuse) };
  });
}

interface NamedType {
  readonly fieldName?: { readonly name: string } | null;
  readonly typeSignature?: unknown;
}

function typeArgument(signature: TypeSignature, index: number, refuse: Refuse): TypeSignature {
  const value = signature.arguments[index]?.value;
  if (!isSignature(value)) throw refuse('Trino describes it in a way that is not known here');
  return value;
}

function numberArgument({ arguments: given }: TypeSignature, index: number, usual: number): number {
  const value = given[index]?.value;
  return typeof value === 'number' ? value : usual;
}

export function isSignature(value: unknown): value is TypeSignature {
  const { rawType, arguments: given } = (value ?? {}) as Partial<TypeSignature>;
  return typeof rawType === 'string' && Array.isArray(given) && given.every((argument) => typeof argument === 'object');
}

/** The type as Trino writes it, nearly. */
function spelled({ rawType, arguments: given }: TypeSignature, depth: number): string {
  if (given.length === 0 || depth > COLUMN_TYPE_DEPTH_MAX) return rawType;
  const inner = given.map(({ value }) => {
    if (isSignature(value)) return spelled(value, depth + 1);
    const { fieldName, typeSignature } = (typeof value === 'object' && value !== null ? value : {}) as NamedType;
    const type = isSignature(typeSignature) ? spelled(typeSignature, depth + 1) : String(value);
    return fieldName ? `${fieldName.name} ${type}` : type;
  });
  const [word = '', ...rest] = rawType.split(' ');
  return [`${word}(${inner.join(', ')})`, ...rest].join(' ');
}
