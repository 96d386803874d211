/** Half of a surrogate pair is no character, and would be stored as another. UTF-8 has none, so in JSON it can only be escaped. */

const ESCAPED_HALF = /\\u[dD][89a-fA-F]/;

/** @param text JSON @throws Error when a text or a name in it holds half of a surrogate pair */
export function requireWellFormed(text: string): void {
  // A reviver makes parsing ten times as long.
  if (ESCAPED_HALF.test(text)) JSON.parse(text, refuseHalves);
}

function refuseHalves(name: string, value: unknown): unknown {
  if (name.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())) return value;
  throw new Error('a text has half of a surrogate pair, which is no character');
}
