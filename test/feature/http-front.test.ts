/** First contact: what the bare address says to a person and to a program, and the example ids in the documentation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

test('the bare address answers without a key: a page for a browser, JSON for a program', async (t) => {
  const service = await startHttpService(t);
  const page = await service.get('/', { key: '', headers: { accept: BROWSER } });
  const html = await page.text();
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  // To read a header of 100 KB holds up all others, and whoever sends one needs no key.
  const long = await service.get('/', { key: '', headers: { accept: 'text/html,'.repeat(10_000) } });
  assert.deepEqual([long.status, long.headers.get('content-type')], [200, 'application/json']);
  for (const said of ['href="/docs"', 'href="/openapi.json"', 'qrs keys create', 'X-Service-Api-Key']) {
    assert(html.includes(said), said);
  }
  // Nothing from elsewhere, and nothing that stands in the page itself is run.
  assert.doesNotMatch(html, /https?:\/\/(?!THIS ADDRESS)|<style|<script(?! type="module" src="\/explorer\/)/);
  const policy = page.headers.get('content-security-policy') ?? '';
  assert(policy.startsWith("default-src 'none'; script-src 'self'; style-src 'self';"), policy);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  for (const [, file = ''] of html.matchAll(/(?:href|src)="(\/explorer\/[^"]+)"/g)) {
    const answer = await service.get(file, { key: '' });
    assert.deepEqual(
      [answer.status, answer.headers.get('cache-control')],
      [200, 'public, max-age=31536000, immutable'],
    );
  }
  assert.equal((await service.get('/explorer/none.js', { key: '' })).status, 404);
  for (const path of ['/queries/7', '/executions/x', '/usage/']) {
    const explorer = await service.get(path, { key: '', headers: { accept: BROWSER } });
    assert.deepEqual([explorer.status, await explorer.text()], [200, html], path);
  }

  for (const accept of ['*/*', 'application/json', 'text/csv']) {
    const answer = await service.get('/', { key: '', headers: { accept } });
    assert.equal(answer.headers.get('content-type'), 'application/json', accept);
    assert.match(answer.headers.get('vary') ?? '', /accept/);
    const { documentation, openapi, key } = (await answer.json()) as Record<string, unknown>;
    assert.deepEqual([documentation, openapi], ['/docs', '/openapi.json']);
    assert.match(JSON.stringify(key), /X-Service-Api-Key.*qrs keys create/);
  }
  const head = await service.get('/', { key: '', method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  assert.equal((await service.get('/', { method: 'POST' })).status, 404);
  assert.equal((await service.get('/', { method: 'POST', key: '' })).status, 401);
  assert.equal((await service.get('/v1/query/7/results', { key: '' })).status, 401);
});

test('llms.txt has the addresses, the parameters and the language of filters', async (t) => {
  const service = await startHttpService(t);
  const answer = await service.get('/llms.txt', { key: '' });
  const text = await answer.text();
  assert.equal(answer.headers.get('content-type'), 'text/plain; charset=utf-8');
  assert.match(text, /^# Query Results Service\n\n> /);
  for (const said of ['/v1/query/{query_id}/results', '`sort_by`', '[not] in (…)', 'next_uri', '/openapi.json']) {
    assert(text.includes(said), said);
  }
});

test('the reference page is filled with an existing query and run that everybody may read', async (t) => {
  const service = await startHttpService(t);
  const example = async () => {
    const script = await (await service.get('/docs/start.js', { key: '' })).text();
    return JSON.parse(/const example = (.*);/.exec(script)?.[1] ?? assert.fail(script));
  };
  assert.equal(await example(), null);
  await service.commandLine.get('queries', 'add', '--id', '2', '--user', 'ann', '--private');
  await service.publish(2, 'n\n1\n');
  assert.equal(await example(), null);
  const { id } = await service.publish(3, 'n\n1\n');
  assert.deepEqual(await example(), { queryId: 3, executionId: id });
  const { info } = (await service.json('/openapi.json')) as { readonly info: { readonly description: string } };
  assert.match(info.description, /\*\*Filters\.\*\* `filters` is a condition as in an SQL `WHERE`/);
});

test('an unquoted name with a blank: the error says how to write it', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'IMDB Rating,n\n8.1,1\n');
  const error = async (parameter: string) => {
    const answer = await service.get(`/v1/query/7/results?${parameter}`);
    return ((await answer.json()) as { readonly error: string }).error;
  };
  const advice = 'A column name that has blanks goes in double quotes: "IMDB Rating".';
  for (const asked of [
    'filters=IMDB Rating > 8',
    'filters=n = 1 and IMDB Rating is null',
    'sort_by=IMDB Rating desc',
  ]) {
    assert((await error(asked)).includes(advice), await error(asked));
  }
  const found = await service.json('/v1/query/7/results?filters="IMDB Rating" > 8&sort_by="IMDB Rating"');
  assert.match(JSON.stringify(found), /"row_count":1/);
});
