import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyUse } from '../catalog/catalog.ts';
import { KeyUses } from './key-uses.ts';
import type { AnsweredRequest, Observation } from './observation.ts';
import { RequestStats } from './request-stats.ts';

const NOON = 1_709_640_000_000;

function answered(keyId: string | undefined, startedAt: number): AnsweredRequest {
  const rest = { requestId: 'r', method: 'GET', route: '/', status: 200, millis: 1, aborted: false };
  return { kind: 'answered', keyId, startedAt, traceparent: undefined, stats: new RequestStats(), ...rest };
}

function start() {
  const written: (readonly KeyUse[])[] = [];
  const observed: Observation[] = [];
  const state = { broken: false };
  const uses = new KeyUses({
    principals: {
      recordKeyUses: async (some) => {
        if (state.broken) throw new Error('disk full');
        written.push(some);
      },
    },
    observe: (observation) => observed.push(observation),
  });
  return { uses, written, observed, state };
}

test('a key in steady use is written once a minute, all keys in one commit, and an idle one never', async () => {
  const { uses, written } = start();
  for (let second = 0; second < 180; second += 5) {
    uses.observe(answered('k1', NOON + second * 1000 - 0.25));
    uses.observe(answered('k2', NOON + second * 1000));
    uses.observe(answered(undefined, NOON));
    await uses.write(false);
  }
  assert.deepEqual(
    written,
    [0, 60, 120].map((second) => ['k1', 'k2'].map((keyId) => ({ keyId, at: NOON + second * 1000 }))),
  );
  await uses.write(true);
  assert.deepEqual(
    written[3],
    ['k1', 'k2'].map((keyId) => ({ keyId, at: NOON + 175_000 })),
  );
  await uses.write(true);
  assert.equal(written.length, 4);
});

test('a use that could not be written is written with the next', async () => {
  const { uses, written, observed, state } = start();
  state.broken = true;
  uses.observe(answered('k1', NOON));
  await uses.write(false);
  assert.equal(observed[0]?.kind, 'fault');
  state.broken = false;
  await uses.write(false);
  assert.deepEqual(written, [[{ keyId: 'k1', at: NOON }]]);
});
