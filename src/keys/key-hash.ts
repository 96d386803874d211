/**
 * Keys are stored as hashes. A key is 200 random bits, so a plain SHA-256 is as strong as a slow password hash would be,
 * and costs a microsecond per request.
 */
import { hash, timingSafeEqual } from 'node:crypto';

/** Lower-case hex SHA-256 of the whole key text. */
export function hashKey(key: string): string {
  return hash('sha256', key, 'hex');
}

/** Compares two hashes in constant time: it does not tell where they differ. */
export function sameHash(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
