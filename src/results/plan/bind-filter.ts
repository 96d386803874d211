/**
 * A filter expression → a predicate: names become columns, literals values of their column's type, and whatever cannot be
 * compared is refused with its position. Pure, and recursive only as deep as the tree, which the parser has bounded.
 */
import { formatColumnType, isNested } from '../../domain/column-type.ts';
import type { Column } from '../../domain/result-set.ts';
import { expressionError, type Source, unexpected } from '../../expression/expression-error.ts';
import type {
  ComparisonOperator,
  FilterExpression,
  FilterNode,
  Literal,
  Name,
  Operand,
  Position,
} from '../../expression/tree.ts';
import { bindName, bindNameOrAdviseQuotes, findName } from './bind-name.ts';
import { compareLiteral } from './compare-literal.ts';
import { readLiteral, type ScalarType, type ValueLiteral } from './literals/literal.ts';
import { PATTERN_LENGTH_MAX, parsePattern, WILDCARDS_MAX } from './literals/pattern.ts';
import type { Reading, Unreadable } from './literals/reading.ts';
import type { ColumnRef, Predicate, Value } from './predicate.ts';
import { familyOf } from './type-family.ts';

/** @throws ExpressionError filter_column · filter_type · filter_value · filter_limit · filter_unsupported */
export function bindFilter(filter: FilterExpression, columns: readonly Column[]): Predicate {
  const source: Source = { parameter: 'filters', text: filter.text };
  return new FilterBinder(source, columns).bind(filter.root);
}

/** What an operand turns out to be. */
type Side =
  | { readonly kind: 'column'; readonly column: ColumnRef; readonly at: Position }
  /** `name`: the literal was typed in double quotes, and is no column. */
  | { readonly kind: 'literal'; readonly literal: Literal; readonly name: Name | undefined; readonly at: Position };

type ColumnSide = Side & { readonly kind: 'column' };

const FLIPPED: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '!=': '!=',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

class FilterBinder {
  readonly #source: Source;
  readonly #columns: readonly Column[];

  constructor(source: Source, columns: readonly Column[]) {
    this.#source = source;
    this.#columns = columns;
  }

  bind(node: FilterNode): Predicate {
    switch (node.kind) {
      case 'and':
      case 'or':
        return { kind: node.kind, operands: node.operands.map((operand) => this.bind(operand)) };
      case 'not':
        return not(this.bind(node.operand));
      case 'flag':
        return { kind: 'flag', column: this.#booleanColumn(this.#column(node.name)) };
      case 'comparison':
        return this.#compare(this.#side(node.left), node.operator, this.#value(node.right), node.at);
      case 'in':
        return negatedIf(node.negated, this.#in(node));
      case 'like':
        return negatedIf(node.negated, this.#like(node));
      case 'between':
        return negatedIf(node.negated, this.#between(node));
      case 'is':
        return negatedIf(node.negated, this.#is(node));
      case 'contains':
        return this.#contains(node);
      default:
        return node satisfies never;
    }
  }

  #compare(left: Side, operator: ComparisonOperator, right: Side, at: Position): Predicate {
    if (left.kind === 'column') {
      return right.kind === 'column'
        ? this.#compareColumns(left, operator, right)
        : this.#compareLiteral(left, operator, right.literal);
    }
    if (right.kind === 'column') return this.#compareLiteral(right, FLIPPED[operator], left.literal);
    throw this.#noColumn([left, right], at);
  }

  #compareLiteral(side: ColumnSide, operator: ComparisonOperator, literal: Literal): Predicate {
    const type = this.#scalar(side);
    if (literal.kind === 'null') return { kind: 'unknown' };
    return compareLiteral(side.column, operator, this.#read(literal, type, side.column));
  }

  #compareColumns(left: ColumnSide, operator: ComparisonOperator, right: ColumnSide): Predicate {
    const [leftType, rightType] = [this.#scalar(left), this.#scalar(right)];
    if (familyOf(leftType) !== familyOf(rightType)) {
      const sentence = `${this.#named(left.column)} and ${this.#named(right.column)}, which cannot be compared.`;
      throw expressionError(this.#source, 'type', right.at, sentence);
    }
    return { kind: 'columns', left: left.column, operator, right: right.column };
  }

  #in(node: FilterNode & { readonly kind: 'in' }): Predicate {
    const side = this.#side(node.operand);
    const members = node.members.map((member) => this.#value(member));
    const alternatives: Predicate[] = [];
    const values: Value[] = [];
    for (const member of members) {
      const equal = this.#compare(side, '=', member, node.at);
      // Values become one list, in which DuckDB looks up. The others are columns, nulls, and values that the type cannot hold.
      if (equal.kind === 'comparison' && side.kind === 'column') values.push(equal.value);
      else alternatives.push(equal);
    }
    if (side.kind === 'column' && values.length > 0) alternatives.unshift({ kind: 'in', column: side.column, values });
    const [only] = alternatives;
    return only !== undefined && alternatives.length === 1 ? only : { kind: 'or', operands: distinct(alternatives) };
  }

  #between(node: FilterNode & { readonly kind: 'between' }): Predicate {
    const side = this.#side(node.operand);
    const low = this.#compare(side, '>=', this.#value(node.low), node.at);
    const high = this.#compare(side, '<=', this.#value(node.high), node.at);
    return { kind: 'and', operands: [low, high] };
  }

  #is(node: FilterNode & { readonly kind: 'is' }): Predicate {
    const side = this.#side(node.operand);
    if (side.kind === 'literal') throw this.#noColumn([side], node.operand.at);
    if (node.what === 'null') return { kind: 'is-null', column: side.column };
    return { kind: 'is-truth', column: this.#booleanColumn(side), truth: node.what === 'true' };
  }

  #like(node: FilterNode & { readonly kind: 'like' }): Predicate {
    const side = this.#side(node.operand);
    if (side.kind === 'literal') throw this.#noColumn([side], node.operand.at);
    const { column } = side;
    const word = node.caseInsensitive ? 'ilike' : 'like';
    if (familyOf(column.type) !== 'text') {
      const advice = column.type.kind === 'array' ? ' Use contains(column, value).' : ' Use =, < or between.';
      const sentence = `${word} compares text, and ${this.#named(column)}.${advice}`;
      throw expressionError(this.#source, 'type', node.operand.at, sentence);
    }
    const pattern = this.#value(node.pattern);
    if (pattern.kind === 'column') {
      throw unexpected(this.#source, 'unsupported', pattern.at, `a pattern in single quotes after ${word}`);
    }
    const { literal } = pattern;
    if (literal.kind === 'null') return { kind: 'unknown' };
    if (literal.kind !== 'text' && literal.kind !== 'hex') {
      throw unexpected(this.#source, 'value', literal.at, `a pattern in single quotes after ${word}`);
    }
    const reading = parsePattern(literal.text, node.escape?.text);
    switch (reading.kind) {
      case 'pattern':
        return { kind: 'like', column, pattern: reading.pattern, caseInsensitive: node.caseInsensitive };
      case 'open-escape':
        throw unexpected(this.#source, 'value', literal.at, 'a character after the escape character at the end');
      case 'too-long':
        throw this.#limit(literal.at, `a pattern has at most ${PATTERN_LENGTH_MAX} characters.`);
      case 'too-many-wildcards':
        throw this.#limit(literal.at, `a pattern has at most ${WILDCARDS_MAX} wildcards (% and _).`);
      default:
        return reading satisfies never;
    }
  }

  #contains(node: FilterNode & { readonly kind: 'contains' }): Predicate {
    const { column } = this.#column(node.name);
    if (column.type.kind !== 'array') {
      const advice = familyOf(column.type) === 'text' ? " Use like '%…%' to find a piece of text." : '';
      const sentence = `contains looks into arrays, and ${this.#named(column)}.${advice}`;
      throw expressionError(this.#source, 'type', node.name.at, sentence);
    }
    const { element } = column.type;
    if (isNested(element)) {
      const sentence = `${this.#named(column)}, and contains compares single values only.`;
      throw expressionError(this.#source, 'type', node.name.at, sentence);
    }
    const member = this.#value(node.member);
    if (member.kind === 'column') throw unexpected(this.#source, 'unsupported', member.at, 'a value, not a column');
    if (member.literal.kind === 'null') return { kind: 'unknown' };
    const reading = this.#read(member.literal, element, column);
    if (reading.kind !== 'value') return { kind: 'known', column, truth: false };
    return { kind: 'contains', column, element, value: reading.value };
  }

  #side(operand: Operand): Side {
    if (operand.kind !== 'name') return { kind: 'literal', literal: operand, name: undefined, at: operand.at };
    if (!operand.quoted) return this.#column(operand);
    const column = findName(operand, this.#columns, this.#source);
    if (column !== undefined) return { kind: 'column', column, at: operand.at };
    const literal = { kind: 'text', text: operand.text, at: operand.at } as const;
    return { kind: 'literal', literal, name: operand, at: operand.at };
  }

  /** On the side where a value is usual, a bare name may be a text that lacks its quotes. */
  #value(operand: Operand): Side {
    if (operand.kind !== 'name' || operand.quoted) return this.#side(operand);
    const column = bindNameOrAdviseQuotes(operand, this.#columns, this.#source);
    return { kind: 'column', column, at: operand.at };
  }

  #column(name: Name): ColumnSide {
    return { kind: 'column', column: bindName(name, this.#columns, this.#source), at: name.at };
  }

  #booleanColumn(side: ColumnSide): ColumnRef {
    if (side.column.type.kind === 'boolean') return side.column;
    const sentence = `only a boolean column is true or false by itself, and ${this.#named(side.column)}. Compare it: =, <, in, like, is null.`;
    throw expressionError(this.#source, 'type', side.at, sentence);
  }

  #scalar(side: ColumnSide): ScalarType {
    const { type } = side.column;
    if (!isNested(type)) return type;
    const advice =
      type.kind === 'array' ? 'Use contains(column, value), or is null.' : 'It can be tested with is null.';
    const sentence = `${this.#named(side.column)}, and values of that type cannot be compared. ${advice}`;
    throw expressionError(this.#source, 'type', side.at, sentence);
  }

  #read(literal: ValueLiteral, type: ScalarType, column: ColumnRef): Exclude<Reading, Unreadable> {
    const reading = readLiteral(literal, type);
    if (reading.kind !== 'unreadable') return reading;
    const about = `Column ${this.#named(column)}.`;
    const advice = reading.reason === undefined ? about : `${reading.reason} ${about}`;
    throw unexpected(this.#source, 'value', literal.at, reading.expected, advice);
  }

  /** If there is no column at all, a quoted name was meant as one, and the error says that there is no such column. */
  #noColumn(sides: readonly Side[], at: Position): Error {
    let advice: string | undefined;
    for (const side of sides) {
      if (side.kind === 'column') continue;
      if (side.name !== undefined) bindName(side.name, this.#columns, this.#source);
      const text = side.literal.kind === 'text' ? side.literal.text : undefined;
      if (this.#columns.some(({ name }) => name === text)) {
        advice ??= `'${text}' in single quotes is a text: the column is "${text}".`;
      }
    }
    return unexpected(this.#source, 'type', at, 'a column on at least one side', advice);
  }

  #named(column: ColumnRef): string {
    return `"${this.#columns[column.index]?.name}" is ${formatColumnType(column.type)}`;
  }

  #limit(at: Position, sentence: string): Error {
    return expressionError(this.#source, 'limit', at, sentence);
  }
}

function not(operand: Predicate): Predicate {
  return { kind: 'not', operand };
}

function negatedIf(negated: boolean, predicate: Predicate): Predicate {
  return negated ? not(predicate) : predicate;
}

/** A null, or a value that the type cannot hold, means the same however often it is listed. */
function distinct(alternatives: readonly Predicate[]): readonly Predicate[] {
  const seen = new Set<string>();
  return alternatives.filter((alternative) => {
    if (alternative.kind !== 'unknown' && alternative.kind !== 'known') return true;
    const isNew = !seen.has(alternative.kind);
    seen.add(alternative.kind);
    return isNew;
  });
}
