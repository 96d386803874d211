/**
 * Ids for requests that bring none: 96 random bits as 24 hexadecimal digits. They are random, not counted, so that nobody learns from an
 * id how much others ask. They are made in stock and shorter than a UUID, because the quickest answers take 20 µs with their id.
 */
import { randomFillSync } from 'node:crypto';

const ID_BYTES = 12;
const STOCK = 256;

const stock = Buffer.allocUnsafeSlow(ID_BYTES * STOCK);
let used = stock.length;

export function newRequestId(): string {
  if (used === stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  used += ID_BYTES;
  return stock.toString('hex', used - ID_BYTES, used);
}
