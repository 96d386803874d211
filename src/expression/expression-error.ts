/**
 * The error for a wrong expression. It is one line: the parameter, the position, what was found and what was expected there, what to
 * write instead if that is known, and the text around it with the wrong piece marked:
 *
 *     filters, position 8: found "==", expected a comparison such as =. Did you mean "="? In: amount »==« 5
 */
import { shortened } from '../domain/shortened.ts';
import type { Position } from './tree.ts';

export type Problem = 'syntax' | 'column' | 'type' | 'value' | 'unsupported' | 'limit';

export type ExpressionErrorCode = `filter_${Problem}` | 'sort_syntax' | 'sort_column' | 'sort_type' | 'sort_limit';

/** An expression and the parameter it came in. */
export interface Source {
  readonly parameter: 'filters' | 'sort_by';
  readonly text: string;
}

export class ExpressionError extends Error {
  readonly code: ExpressionErrorCode;
  /** In characters (code points), counted from 1. */
  readonly position: number;

  constructor(code: ExpressionErrorCode, message: string, position: number) {
    super(message);
    this.code = code;
    this.position = position;
  }
}

/** How much of the wrong piece, and of the text on each side of it, an error repeats. */
const FOUND_MAX = 40;
const AROUND_MAX = 24;

/** `expected` completes "found …, expected …"; `advice` is whole sentences. */
export function unexpected(
  source: Source,
  problem: Problem,
  at: Position,
  expected: string,
  advice?: string,
): ExpressionError {
  const sentence = `found ${found(source.text, at)}, expected ${expected}.`;
  return expressionError(source, problem, at, advice === undefined ? sentence : `${sentence} ${advice}`);
}

/** `sentences` say what is wrong with the piece at `at`, full stop included. */
export function expressionError(source: Source, problem: Problem, at: Position, sentences: string): ExpressionError {
  const position = positionOf(source.text, at.offset);
  const message = `${source.parameter}, position ${position}: ${sentences} In: ${excerpt(source.text, at)}`;
  return new ExpressionError(codeOf(source, problem), oneLine(message), position);
}

/** Sorting has fewer codes: it has no values, and what it does not support is a syntax error. */
function codeOf(source: Source, problem: Problem): ExpressionErrorCode {
  if (source.parameter === 'filters') return `filter_${problem}`;
  return problem === 'unsupported' || problem === 'value' ? 'sort_syntax' : `sort_${problem}`;
}

function found(text: string, at: Position): string {
  const piece = text.slice(at.offset, at.offset + at.length);
  if (piece === '') return 'the end';
  const shown = shortened(piece, FOUND_MAX);
  return /^['"]/.test(shown) ? shown : `"${shown}"`;
}

function excerpt(text: string, at: Position): string {
  const start = Math.max(0, at.offset - AROUND_MAX);
  const end = at.offset + at.length;
  const before = (start > 0 ? '…' : '') + text.slice(start, at.offset);
  const after = text.slice(end, end + AROUND_MAX) + (text.length > end + AROUND_MAX ? '…' : '');
  return `${before}»${shortened(text.slice(at.offset, end), FOUND_MAX)}«${after}`;
}

/** Control characters would break the line, or the terminal it is read in; a cut may have split a surrogate pair. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').toWellFormed();
}

/** As errors tell it: in characters, counted from 1. */
export function positionOf(text: string, offset: number): number {
  let position = 1;
  for (let at = 0; at < offset; position += 1) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return position;
}
