/**
 * Trees → text, for tests of the parsers: the one spelling of a filter or a sort expression, such that parsing it gives the tree again.
 * Recurses as deep as the tree, which the parser has bounded.
 */
import { isReserved } from '../src/expression/keywords.ts';
import type { ExpressionLimits } from '../src/expression/limits.ts';
import type { FilterExpression, FilterNode, Name, Operand, SortExpression, SortKey } from '../src/expression/tree.ts';

/** As the settings have them by default. */
export const DEFAULT_EXPRESSION_LIMITS: ExpressionLimits = {
  lengthMax: 20_000,
  termsMax: 1_000,
  depthMax: 50,
  inMembersMax: 1_000,
  sortKeysMax: 16,
};

const BARE_NAME = /^[\p{L}_][\p{L}\p{N}\p{M}_$]*$/u;

export function formatFilter(filter: FilterExpression): string {
  return formatNode(filter.root);
}

export function formatSort(sort: SortExpression): string {
  return sort.keys.map(formatKey).join(', ');
}

function formatNode(node: FilterNode): string {
  switch (node.kind) {
    case 'or':
      return node.operands
        .map((operand) => (operand.kind === 'or' ? inParentheses(operand) : formatNode(operand)))
        .join(' or ');
    case 'and':
      return node.operands
        .map((operand) =>
          operand.kind === 'or' || operand.kind === 'and' ? inParentheses(operand) : formatNode(operand),
        )
        .join(' and ');
    case 'not': {
      const { operand } = node;
      return `not ${operand.kind === 'or' || operand.kind === 'and' ? inParentheses(operand) : formatNode(operand)}`;
    }
    case 'flag':
      return formatName(node.name);
    case 'comparison':
      return `${formatOperand(node.left)} ${node.operator} ${formatOperand(node.right)}`;
    case 'in':
      return `${formatOperand(node.operand)}${not(node)} in (${node.members.map(formatOperand).join(', ')})`;
    case 'like': {
      const escaping = node.escape === undefined ? '' : ` escape ${quoteText(node.escape.text)}`;
      const word = node.caseInsensitive ? 'ilike' : 'like';
      return `${formatOperand(node.operand)}${not(node)} ${word} ${formatOperand(node.pattern)}${escaping}`;
    }
    case 'between':
      return `${formatOperand(node.operand)}${not(node)} between ${formatOperand(node.low)} and ${formatOperand(node.high)}`;
    case 'is':
      return `${formatOperand(node.operand)} is${not(node)} ${node.what}`;
    case 'contains':
      return `contains(${formatName(node.name)}, ${formatOperand(node.member)})`;
    default:
      return node satisfies never;
  }
}

function inParentheses(node: FilterNode): string {
  return `(${formatNode(node)})`;
}

function not(node: { readonly negated: boolean }): string {
  return node.negated ? ' not' : '';
}

function formatOperand(operand: Operand): string {
  switch (operand.kind) {
    case 'name':
      return formatName(operand);
    case 'text':
      return quoteText(operand.text);
    case 'number':
    case 'hex':
      return operand.text;
    case 'boolean':
      return String(operand.value);
    case 'null':
      return 'null';
    default:
      return operand satisfies never;
  }
}

function formatKey(key: SortKey): string {
  return formatName(key.name) + (key.descending ? ' desc' : '') + (key.nullsFirst ? ' nulls first' : '');
}

/** A name that was quoted stays quoted: quoted, it may be meant as text. */
function formatName(name: Name): string {
  const isBare = !name.quoted && BARE_NAME.test(name.text) && !isReserved(name.text);
  return isBare ? name.text : `"${name.text.replaceAll('"', '""')}"`;
}

function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
