/** A receiver of webhooks on this machine. It checks signatures by itself, as a receiver elsewhere would. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly seconds: number;
  readonly signature: string;
  readonly body: string;
  readonly message: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> };
}

export interface Receiver {
  readonly url: string;
  /** In order. */
  readonly received: readonly Received[];
  /** Resolves when so many have come. */
  have(count: number): Promise<void>;
}

/** Answers one message. @param count how many there have been, this one included */
export type Answer = (response: ServerResponse, count: number) => void;

export const taken: Answer = (response) => void response.writeHead(204).end();

export async function startReceiver(t: TestContext, answer: Answer = taken): Promise<Receiver> {
  const received: Received[] = [];
  let watchers: { readonly count: number; readonly wake: () => void }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const header = (name: string) => String(request.headers[name]);
    received.push({
      path: request.url ?? '',
      id: header('webhook-id'),
      seconds: Number(header('webhook-timestamp')),
      signature: header('webhook-signature'),
      body,
      message: JSON.parse(body),
    });
    answer(response, received.length);
    const ready = watchers.filter(({ count }) => count <= received.length);
    watchers = watchers.filter((watcher) => !ready.includes(watcher));
    for (const { wake } of ready) wake();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    have: (count) =>
      new Promise((wake) => {
        if (received.length >= count) wake();
        else watchers.push({ count, wake });
      }),
  };
}

/** By the text of Standard Webhooks: HMAC-SHA256 of id, time and body, under the bytes that the secret is the base64 of. */
export function assertSigned({ id, seconds, body, signature }: Received, secret: string): void {
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  assert.equal(key.length, 32);
  const expected = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  assert.equal(signature, `v1,${expected}`);
}
