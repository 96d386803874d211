/**
 * The bounds of the filter and sort languages, each a setting. They keep a crafted expression from costing too much, here and in DuckDB:
 * DuckDB takes time quadratic in the terms of a chain to plan it (3,000 terms 0.2 s, 50,000 more than 50 s, and no way to interrupt it),
 * but plans a list of 10,000 members in 0.15 s.
 */
export interface ExpressionLimits {
  /** Characters (UTF-16 code units) of an expression. */
  readonly lengthMax: number;
  /** Conditions of a filter: comparisons, `in`, `like`, `is`, … */
  readonly termsMax: number;
  /**
   * How deep parentheses and `not` may nest. Parsing, binding and compiling recurse this deep, so whoever raises it
   * must keep it under a few thousand.
   */
  readonly depthMax: number;
  /** Members of one `in` list. */
  readonly inMembersMax: number;
  readonly sortKeysMax: number;
}
