/**
 * A proxy for tests, where HAProxy is not installed: requests go to the replicas in turn, and to the next one when a connection is refused.
 * One that breaks before its answer has begun is sent to the next replica if it may be sent twice: GET and HEAD. What breaks later is
 * cut on the client's side, too.
 */
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Front } from './front.ts';

export async function startRoundRobin(ports: readonly number[]): Promise<Front> {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const server = createServer((incoming, outgoing) => {
    next = (next + 1) % ports.length;
    incoming.on('error', () => undefined);
    void pass([...ports.slice(next), ...ports.slice(0, next)], incoming, outgoing, agent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    program: 'a proxy of our own (HAProxy is not installed)',
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** `again`: nothing has come of it, and it may be sent once more. */
type Outcome = 'passed' | 'again' | 'cut';

async function pass(
  ports: readonly number[],
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  agent: Agent,
): Promise<void> {
  const { method = 'GET' } = incoming;
  const mayRepeat = method === 'GET' || method === 'HEAD';
  // A kept connection may turn out to be dead, so each replica is asked once more, on a new one, before the request is given up.
  for (const [attempt, port] of [...ports, ...ports].entries()) {
    const kept = attempt < ports.length ? agent : false;
    const outcome = await (mayRepeat ? sendAgain(port, incoming, outgoing, kept) : sendOnce(port, incoming, outgoing));
    if (outcome === 'passed') return;
    if (outcome === 'cut') break;
  }
  outgoing.destroy();
}

async function sendAgain(
  port: number,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  agent: Agent | false,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const sent = request({ ...addressed(port, incoming), agent });
  sent.on('error', () => resolve(outgoing.headersSent ? 'cut' : 'again'));
  sent.on('response', (answer) => resolve(answered(answer, outgoing)));
  outgoing.on('close', () => sent.destroy());
  sent.end();
  return await promise;
}

/** On a new connection, and not before there is one. */
async function sendOnce(port: number, incoming: IncomingMessage, outgoing: ServerResponse): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const sent = request({ ...addressed(port, incoming), agent: false });
  let isConnected = false;
  sent.on('error', () => resolve(isConnected ? 'cut' : 'again'));
  sent.on('response', (answer) => resolve(answered(answer, outgoing)));
  outgoing.on('close', () => sent.destroy());
  sent.on('socket', (socket) =>
    socket.once('connect', () => {
      isConnected = true;
      incoming.pipe(sent);
    }),
  );
  return await promise;
}

function addressed(port: number, { method, url, headers }: IncomingMessage) {
  return { host: '127.0.0.1', port, method, path: url, headers, setHost: false };
}

async function answered(answer: IncomingMessage, outgoing: ServerResponse): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  answer.on('error', () => resolve('cut'));
  outgoing.on('close', () => resolve(outgoing.writableFinished ? 'passed' : 'cut'));
  outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
  answer.pipe(outgoing);
  return await promise;
}
