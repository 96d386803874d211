/** A relay before a server that counts what the server sends, and may be as far from it as another data centre is. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface CountedTraffic extends AsyncDisposable {
  readonly url: string;
  /** All bytes that the server has sent so far: heads and bodies of answers. */
  readonly bytes: number;
}

/** @param latencyMillis by which what a client sends comes later: a request, which is short, takes that much longer */
export async function countTraffic(serverUrl: string, latencyMillis = 0): Promise<CountedTraffic> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let bytes = 0;
  const relay = createServer((client) => {
    const server = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => sockets.delete(from));
    }
    server.pipe(client);
    // What came later does not arrive before what came first, since timers of the same length end in order.
    client.on('data', (chunk) => {
      if (latencyMillis === 0) server.write(chunk);
      else setTimeout(() => server.write(chunk), latencyMillis);
    });
    client.on('end', () => setTimeout(() => server.end(), latencyMillis));
    server.on('data', (chunk) => {
      bytes += chunk.length;
    });
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    get bytes() {
      return bytes;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      relay.close();
    },
  };
}
