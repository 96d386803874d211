/** Equal requests at the same moment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

test('however many ask for the same page at once, it is read once, and nobody is refused', async (t) => {
  const service = await startHttpService(t, { QRS_PAGES_WAITING: '0' });
  await service.publish(7, `n,w\n${Array.from({ length: 5000 }, (_, n) => `${n},word ${n}`).join('\n')}\n`);
  for (const path of ['/v1/query/7/results?limit=4000', '/v1/query/7/results/csv?limit=3000&sort_by=w']) {
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.get(path)));
    const bodies = new Set(await Promise.all(answers.map((answer) => answer.text())));
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    assert.equal(bodies.size, 1);
  }
  const rows = service.observed.reduce((sum, one) => sum + (one.kind === 'answered' ? one.stats.rowCount : 0), 0);
  assert.equal(rows, 200 * 7000, 'each is accounted for');
});
