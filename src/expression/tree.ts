/**
 * The syntax trees of both languages, before anything is known about columns. Literals stay as they were typed, so no digit is lost
 * before the type of a column is known.
 */

/** Where a node stands in the text, in UTF-16 code units. */
export interface Position {
  readonly offset: number;
  readonly length: number;
}

export interface Name {
  readonly kind: 'name';
  readonly text: string;
  /** Typed in double quotes. A quoted name that is no column may still be meant as text. */
  readonly quoted: boolean;
  readonly at: Position;
}

export type Literal =
  /** `text` without its quotes, `''` inside made `'`. */
  | { readonly kind: 'text'; readonly text: string; readonly at: Position }
  /** As typed: `-1.50e3`, `0x6A3e`. */
  | { readonly kind: 'number' | 'hex'; readonly text: string; readonly at: Position }
  | { readonly kind: 'boolean'; readonly value: boolean; readonly at: Position }
  | { readonly kind: 'null'; readonly at: Position };

export type TextLiteral = Literal & { readonly kind: 'text' };

export type Operand = Name | Literal;

export type ComparisonOperator = '=' | '!=' | '<' | '<=' | '>' | '>=';

export type FilterNode =
  /** At least two operands: a chain is one node, however long. */
  | { readonly kind: 'and' | 'or'; readonly operands: readonly FilterNode[]; readonly at: Position }
  | { readonly kind: 'not'; readonly operand: FilterNode; readonly at: Position }
  /** A boolean column by itself. */
  | { readonly kind: 'flag'; readonly name: Name; readonly at: Position }
  | {
      readonly kind: 'comparison';
      readonly operator: ComparisonOperator;
      readonly left: Operand;
      readonly right: Operand;
      readonly at: Position;
    }
  | {
      readonly kind: 'in';
      readonly operand: Operand;
      readonly members: readonly Operand[];
      readonly negated: boolean;
      readonly at: Position;
    }
  | {
      readonly kind: 'like';
      /** Of ilike: case makes no difference. */
      readonly caseInsensitive: boolean;
      readonly operand: Operand;
      readonly pattern: Operand;
      readonly escape: TextLiteral | undefined;
      readonly negated: boolean;
      readonly at: Position;
    }
  | {
      readonly kind: 'between';
      readonly operand: Operand;
      readonly low: Operand;
      readonly high: Operand;
      readonly negated: boolean;
      readonly at: Position;
    }
  | {
      readonly kind: 'is';
      readonly operand: Operand;
      readonly what: 'null' | 'true' | 'false';
      readonly negated: boolean;
      readonly at: Position;
    }
  | { readonly kind: 'contains'; readonly name: Name; readonly member: Operand; readonly at: Position };

/** A filter, and the text that its positions point into. */
export interface FilterExpression {
  readonly text: string;
  readonly root: FilterNode;
}

export interface SortKey {
  readonly name: Name;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
  readonly at: Position;
}

export interface SortExpression {
  readonly text: string;
  readonly keys: readonly SortKey[];
}
