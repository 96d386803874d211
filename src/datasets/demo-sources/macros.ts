/**
 * What stands for chance in the demo sources: functions of a row's number. The numbers are mixed by plain whole-number
 * arithmetic and the texts by MD5, both the same in every version of the engine (its own hash() is not promised to be).
 */
export const MACROS: readonly string[] = [
  // Multiplies, folds the high bits down, twice; every product stays below 2^63.
  'CREATE MACRO mix1(i, salt) AS ((CAST(i AS BIGINT) % 4294967296) * 1103515245 + CAST(salt AS BIGINT) * 374761393 + 12345) % 2147483647',
  'CREATE MACRO mix2(r) AS (xor(r, r >> 15) * 1597334677 + 101) % 2147483647',
  'CREATE MACRO mix3(r) AS (xor(r, r >> 13) * 668265263 + 7) % 2147483647',
  // From 0 up to 1, evenly; another draw for each salt.
  'CREATE MACRO unit(i, salt) AS mix3(mix2(mix1(i, salt))) / 2147483647e0',
  // A whole number from 0 to n - 1; with a power above 1, small ones are drawn more often.
  'CREATE MACRO pick(i, salt, n, power) AS CAST(least(n - 1, floor(n * pow(unit(i, salt), power))) AS BIGINT)',
  // At least `low`, mostly near it, with a long tail up to `high`.
  'CREATE MACRO tail(i, salt, low, high, power) AS least(high, low * pow(1 - unit(i, salt), -power))',
  "CREATE MACRO address(kind, i) AS '0x' || md5(kind || '-' || i) || substr(md5(i || '-' || kind), 1, 8)",
  // As wallets show addresses: digits above 9 in capitals.
  "CREATE MACRO shouted(address) AS '0x' || upper(substr(address, 3))",
];

/** A list of words as a DuckDB list, and the macro call that picks one of them (the first more often, with a power). */
export function pickWord(words: readonly string[], i: string, salt: number, power: number): string {
  const list = words.map((word) => `'${word}'`).join(', ');
  return `[${list}][pick(${i}, ${salt}, ${words.length}, ${power}) + 1]`;
}
