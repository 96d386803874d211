/** What the doctor found when it looked at one thing. */
import { withReason } from '../../errors/store-unavailable.ts';

export interface Finding {
  /** What was looked at: `settings`, `data directory`, `dataset points`. */
  readonly check: string;
  /** `wrong` keeps the service, or a part of it, from working; a `warning` will, or costs something. */
  readonly status: 'ok' | 'warning' | 'wrong';
  /** What it is like, in one line. */
  readonly found: string;
  /** What to do; absent when there is nothing to do. */
  readonly advice?: string;
}

/** The finding of a check that failed with an error. */
export function wrong(check: string, error: unknown, advice?: string): Finding {
  const told = withReason(error);
  const found = (told instanceof Error ? told.message : String(told)).trim().replace(/\s*[\r\n]+\s*/g, ' ');
  return { check, status: 'wrong', found, ...(advice !== undefined && { advice }) };
}

/** What a look found, or that it failed: the others go on. @throws the signal's reason once it is aborted */
export async function examined(check: string, signal: AbortSignal, look: () => Promise<Finding>): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    signal.throwIfAborted();
    return wrong(check, error);
  }
}
