/** The spelling of cells that scripts/clients/table.ts compares: text, or null. */
export function cell(value) {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'object') return listText(value);
  return String(value);
}

function listText(value) {
  if (typeof value === 'bigint') return String(value);
  return Array.isArray(value) ? `[${value.map(listText).join(',')}]` : JSON.stringify(value);
}

export const names = process.env.COLUMNS.split(',');
export const rowsOf = (records) => records.map((record) => names.map((name) => cell(record[name])));
export const table = `${process.env.QRS}/v1/query/1/results`;
export const headers = { 'X-Service-Api-Key': process.env.KEY };

export async function answer(url, more = {}) {
  const response = await fetch(url, { headers: { ...headers, ...more } });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return response;
}

export const print = (version, rows) => process.stdout.write(JSON.stringify({ version, rows }));
