/** A run that is swept while a request for it is answered: the request is resolved again, and says what is there now. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Execution } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import type { CatalogCache } from '../cache/catalog-cache.ts';
import { wasReplaced } from './resolve.ts';

const ANN = { keyId: 'k', owner: { kind: 'user', name: 'ann' }, teams: [] } as unknown as Principal;
const LATEST = { id: 'latest', queryId: 7, state: 'COMPLETED' } as unknown as Execution;

/** Whether a request for the latest run of query 7, which failed on run `id`, is answered again. */
async function isAskedAgain(error: unknown, id: string | undefined): Promise<boolean> {
  const catalogCache = {
    refresh: () => undefined,
    resultSet: async (of: string) => (of === 'swept' ? undefined : ({} as ResultSet)),
    query: async () => ({ id: 7, owner: ANN.owner, visibility: 'public' }),
    latest: async () => ({ execution: LATEST }),
  } as unknown as CatalogCache;
  const request = { target: { kind: 'query', queryId: '7' }, parameters: new Map() } as never;
  return await wasReplaced(error, id, request, ANN, { catalogCache, clock: () => 0 });
}

test('a result that is gone is looked for again, as it was found to be: damaged, or without a lease to be had', async () => {
  for (const code of ['result_damaged', 'execution_not_found'] as const) {
    const error = new RequestError(code, 'gone');
    assert.equal(await isAskedAgain(error, 'swept'), true, code);
    assert.equal(await isAskedAgain(error, 'older'), true, code);
    assert.equal(await isAskedAgain(error, 'latest'), false, code);
    assert.equal(await isAskedAgain(error, undefined), false, code);
  }
});

test('what fails for another reason fails', async () => {
  assert.equal(await isAskedAgain(new RequestError('overloaded', 'too much'), 'swept'), false);
  assert.equal(await isAskedAgain(new Error('a fault'), 'swept'), false);
});
