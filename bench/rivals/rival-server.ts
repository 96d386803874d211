/**
 * A plain Fastify route over a table in SQLite or PostgreSQL, as anyone would write it in an afternoon: LIMIT and OFFSET, row
 * objects, JSON.stringify. Nothing is checked. Only the parameters of the benchmark are understood. Prints its address.
 */
import Fastify from 'fastify';
import { openDatabase } from './databases.ts';

interface Query {
  readonly limit?: string;
  readonly offset?: string;
  readonly sort_by?: string;
  readonly filters?: string;
  readonly sample_count?: string;
}

const [kind = '', location = ''] = process.argv.slice(2);
const database = await openDatabase(kind, location);
const server = Fastify();

server.get<{ Querystring: Query }>('/results', async (request, reply) => {
  const { limit = '25000', offset = '0', sort_by, filters, sample_count } = request.query;
  const where = filters === undefined ? '' : `WHERE ${filters}`;
  const order =
    sample_count === undefined
      ? `ORDER BY ${sort_by === undefined ? '' : `${sort_by}, `}position`
      : 'ORDER BY random()';
  const count = Number(sample_count ?? limit);
  const rows = await database.query(`SELECT * FROM rows ${where} ${order} LIMIT ${count} OFFSET ${Number(offset)}`);
  const next = Number(offset) + rows.length;
  const more = rows.length === count && sample_count === undefined && next < database.rowCount;
  const query = new URLSearchParams({ ...request.query, limit: String(count), offset: String(next) });
  reply.header('content-type', 'application/json');
  return JSON.stringify({
    result: { rows, metadata: { row_count: rows.length } },
    ...(more && { next_uri: `http://${request.host}/results?${query}` }),
  });
});

/** Rows by their key, as a careful team would page. */
server.get<{ Querystring: Query }>('/rows', async (request, reply) => {
  const [from, count] = [Number(request.query.offset), Number(request.query.limit)];
  const rows = await database.query(
    `SELECT * FROM rows WHERE position >= ${from} AND position < ${from + count} ORDER BY position`,
  );
  reply.header('content-type', 'application/json');
  return JSON.stringify({ result: { rows } });
});

server.get('/results/csv', async (_request, reply) => {
  reply.header('content-type', 'text/csv');
  const lines: string[] = [];
  for (let offset = 0; offset < database.rowCount; offset += 25_000) {
    const rows = await database.query(
      `SELECT * FROM rows WHERE position >= ${offset} AND position < ${offset + 25_000} ORDER BY position`,
    );
    for (const row of rows) lines.push(Object.values(row).map(csvField).join(','));
  }
  return `${lines.join('\n')}\n`;
});

process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.once('SIGTERM', async () => {
  await server.close();
  await database.close();
  process.exit(0);
});

function csvField(value: unknown): string {
  const text = value instanceof Date ? value.toISOString() : String(value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
