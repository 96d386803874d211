/** The visitor's key, and answers that come after it was changed. Without a browser: the page is what the modules ask of it when they are loaded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

const page = {
  document: { querySelector: () => ({ content: '{"keyHeader":"X-Service-Api-Key"}' }) },
  location: { hash: '', pathname: '/', search: '' },
  sessionStorage: { getItem: () => 'old', setItem: () => undefined, removeItem: () => undefined },
  addEventListener: () => undefined,
};
for (const [name, value] of Object.entries(page)) Object.defineProperty(globalThis, name, { value });

const { request } = await import('../../web/api/client.ts');
const { keepKey, key, keyRefused } = await import('../../web/session.ts');

test('a refusal of the key before, that comes late, does not forget the key that was entered meanwhile', async (t) => {
  const refusals: { readonly sent: string; readonly refuse: () => void }[] = [];
  t.mock.method(globalThis, 'fetch', async (_: string, { headers }: { readonly headers: Record<string, string> }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    refusals.push({ sent: headers['X-Service-Api-Key'] ?? '', refuse: resolve });
    await promise;
    return Response.json({ error: 'invalid API Key' }, { status: 401 });
  });
  const refused = { message: 'invalid API Key' };
  const [first, late] = [request('/v1/queries'), request('/v1/usage')];
  refusals[0]?.refuse();
  await assert.rejects(first, refused);
  assert.deepEqual([key.value, keyRefused.value], [undefined, true]);
  keepKey('new');
  refusals[1]?.refuse();
  await assert.rejects(late, refused);
  assert.deepEqual([key.value, keyRefused.value], ['new', false]);
  const again = request('/v1/queries');
  refusals[2]?.refuse();
  await assert.rejects(again, refused);
  assert.deepEqual([key.value, keyRefused.value], [undefined, true]);
  assert.deepEqual(
    refusals.map(({ sent }) => sent),
    ['old', 'old', 'new'],
  );
});
