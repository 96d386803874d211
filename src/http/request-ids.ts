/**
 * Ids for requests that bring none: 96 random bits as 24 hexadecimal digits. Random rather than counted, so that nobody learns from
 * theirs how much others ask; taken from a stock, and shorter than a UUID, because a page that is sent again pays for its id.
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
