/**
 * The floor of a hot page: a bare Fastify route that sends the bytes of a file, plain or already compressed, in its own process.
 * Nothing is checked and nothing is logged. Prints its address.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import Fastify from 'fastify';

const bytes = readFileSync(process.argv[2] ?? '');
const compressed = gzipSync(bytes, { level: 1 });
const server = Fastify();
server.get('/plain', (_request, reply) => reply.header('content-type', 'application/json').send(bytes));
server.get('/gzip', (_request, reply) =>
  reply.header('content-type', 'application/json').header('content-encoding', 'gzip').send(compressed),
);
process.stdout.write(`${await server.listen({ host: '127.0.0.1', port: 0 })}\n`);
process.once('SIGTERM', () => process.exit(0));
