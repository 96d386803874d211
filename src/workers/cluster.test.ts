import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { forkWith, supervisorChannel } from './cluster.ts';

/** Behaves like Node's process: a send that fails without a callback is an 'error' event. */
class FakeProcess extends EventEmitter {
  connected = true;
  readonly unheard: string[] = [];
  readonly sent: unknown[] = [];

  send(message: unknown, _handle?: unknown, _options?: unknown, callback?: (error: Error | null) => void): void {
    this.sent.push(message);
    const error = new Error(this.connected ? 'write EPIPE' : 'channel closed');
    if (callback === undefined) this.unheard.push(error.message);
    else callback(error);
  }
}

test("a worker's messages to a supervisor that is gone, or about to go, are lost without an error", (t) => {
  Object.assign(cluster, { worker: {} });
  t.after(() => Object.assign(cluster, { worker: undefined }));
  const self = new FakeProcess();
  const channel = supervisorChannel(self as unknown as NodeJS.Process);
  const message = { kind: 'listening', url: 'http://here' } as const;
  channel?.send(message);
  self.connected = false;
  channel?.send(message);
  assert.deepEqual([self.unheard, self.sent], [[], [message]]);
});

test('a worker that cannot be started has ended, and its supervisor goes on', async (t) => {
  const { execPath } = process;
  t.after(() => Object.assign(process, { execPath }));
  const fork = forkWith([]);
  process.execPath = '/nowhere/node';
  assert.equal(await fork().ended, 'it could not be started: spawn /nowhere/node ENOENT');
  t.mock.method(cluster, 'fork', () => {
    throw new Error('spawn ENOMEM');
  });
  assert.equal(await fork().ended, 'it could not be started: spawn ENOMEM');
});
