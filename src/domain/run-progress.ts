/** How far a run is, as its engine says while it runs: estimates, which may stand still and go back. What an engine does not know is absent. */

export interface RunProgress {
  /** Of the engine's work, 0 to 100, whole. */
  readonly percent?: number;
  /** Pieces that the work is divided into. More may be found while it goes on. */
  readonly splits?: { readonly completed: number; readonly total: number };
  /** What was read so far, of all tables together. */
  readonly processed?: { readonly rows: number; readonly bytes: number };
}

/** A whole percent. Undefined for what is no number. */
export function wholePercent(percent: number): number | undefined {
  return Number.isFinite(percent) ? Math.min(100, Math.max(0, Math.floor(percent))) : undefined;
}

/** Under the names that it has on the wire. */
export function progressRecord({ percent, splits, processed }: RunProgress): Readonly<Record<string, number>> {
  return {
    ...(percent !== undefined && { percent }),
    ...(splits && { completed_splits: splits.completed, total_splits: splits.total }),
    ...(processed && { processed_rows: processed.rows, processed_bytes: processed.bytes }),
  };
}
