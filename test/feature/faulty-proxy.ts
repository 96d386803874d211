/** A proxy before a service that does to each connection what a test says: a network and a service as bad as they get. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export type Fault =
  /** Everything passes. */
  | { readonly kind: 'none' }
  /** Cut after so many bytes of what the client sends. */
  | { readonly kind: 'cut request'; readonly bytes: number }
  /** Cut when the answer comes, which is not passed on. */
  | { readonly kind: 'lose answer' }
  /** The answer, and not the service's. */
  | { readonly kind: 'answer'; readonly head: string };

export interface FaultyProxy {
  readonly url: string;
  /** How many connections there were. */
  readonly connections: number;
}

/** @param next what happens to the next connection, each of which takes one request */
export async function startFaultyProxy(t: TestContext, serviceUrl: string, next: () => Fault): Promise<FaultyProxy> {
  const { hostname, port } = new URL(serviceUrl);
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    connections += 1;
    const fault = next();
    const service = connect(Number(port), hostname);
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    const cut = () => {
      client.destroy();
      service.destroy();
    };
    client.on('close', () => service.destroy());
    service.on('close', () => client.end());
    let received = 0;
    client.on('data', (chunk) => {
      received += chunk.byteLength;
      if (fault.kind === 'answer')
        client.end(`HTTP/1.1 ${fault.head}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      else if (fault.kind === 'cut request' && received > fault.bytes) cut();
      // One request for each connection: the service closes it after its answer.
      else service.write(chunk.toString('latin1').replace(/^connection: keep-alive/im, 'Connection: close'), 'latin1');
    });
    service.on('data', (chunk) => {
      if (fault.kind === 'lose answer') return cut();
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
  };
}
