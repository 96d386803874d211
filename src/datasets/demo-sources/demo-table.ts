/** What a table of the demo sources is, and of how much it is made. */
export interface DemoSize {
  readonly operators: number;
  readonly avss: number;
  /** Each gives about ten share events. */
  readonly stakers: number;
  /** Each gives about ten transactions, ten engagements and six casts. */
  readonly wallets: number;
}

/** A step of the generation: a table that others are made from, or one that is written out, in the order of `orderBy`. */
export type DemoTable =
  | { readonly kind: 'scratch'; readonly name: string; readonly sql: string }
  | { readonly kind: 'source'; readonly name: string; readonly sql: string; readonly orderBy: string };
