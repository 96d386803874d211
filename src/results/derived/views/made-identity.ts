/** What rows that are made of stored results are known by, beside the views with all columns (`viewIdentity`). */
import { hash } from 'node:crypto';

/**
 * The same for the same `from`, and no other view has it.
 * @param kind `diff`: the difference of two results; `narrow`: a view with some columns; `shown`: what a share shows of a result
 * @param from all that the rows are made from, as JSON can write it
 */
export function madeIdentity(kind: 'diff' | 'narrow' | 'shown', from: unknown): string {
  return `${kind}-${hash('sha256', JSON.stringify(from)).slice(0, 32)}`;
}
