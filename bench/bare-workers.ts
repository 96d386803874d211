/**
 * The floor of several workers: processes that share an address by `node:cluster` and send the bytes of a file, through a bare Fastify route.
 * What two of them take more for each answer than one is the machine's, and no service can take less. Prints its address.
 */
import cluster from 'node:cluster';
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';

const [file = '', workers = '1'] = process.argv.slice(2);
if (cluster.isPrimary) {
  for (let number = 0; number < Number(workers); number += 1) cluster.fork();
  let listening = 0;
  cluster.on('listening', (_worker, { port }) => {
    listening += 1;
    if (listening === Number(workers)) process.stdout.write(`http://127.0.0.1:${port}\n`);
  });
  process.once('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill();
    process.exit(0);
  });
} else {
  const bytes = readFileSync(file);
  const server = Fastify();
  server.get('/plain', (_request, reply) => reply.header('content-type', 'application/json').send(bytes));
  await server.listen({ host: '127.0.0.1', port: 0 });
}
