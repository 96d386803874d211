import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { test } from 'node:test';
import { supervisorChannel } from './cluster.ts';

/** As Node's: an error of sending that no callback takes is an event. */
class FakeProcess {
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

test('what a worker says to a supervisor that is gone, or is going, is lost without an error', (t) => {
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
