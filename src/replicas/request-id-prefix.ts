/** Which replica gave a request its id: the id begins with digits that follow from the replica's name, and do not tell it. */
import { createHash } from 'node:crypto';

const DIGITS = 6;

export function requestIdPrefix(replica: string): string {
  return createHash('sha256').update(replica).digest('hex').slice(0, DIGITS);
}
