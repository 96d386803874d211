/**
 * The head of an answer stays below 8 KB (contract §13), since some clients read no more. The next page's offset is always in
 * it, its address only if there is room.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HttpService, startHttpService } from './http-service.ts';

const HEAD_BYTES_MAX = 8192;

interface Head {
  readonly bytes: number;
  readonly status: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** The head of an answer as it comes over the wire. */
async function headOf(service: HttpService, path: string, more: readonly string[]): Promise<Head> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const lines = [`GET ${path} HTTP/1.1`, 'Host: results.example.com', `X-Service-Api-Key: ${service.key}`, ...more];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  let text = '';
  for await (const piece of socket) {
    text += piece.toString('latin1');
    if (text.includes('\r\n\r\n')) break;
  }
  const head = text.slice(0, text.indexOf('\r\n\r\n') + 4);
  const [status = '', ...fields] = head.trimEnd().split('\r\n');
  const headers = fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field] as const);
  return { bytes: head.length, status, headers: new Map(headers) };
}

const NEXT_URIS = ['x-service-next-uri', 'x-dune-next-uri'];

test('below 8 KB for any request: both addresses, else Link alone, else none; the offset always', async (t) => {
  const service = await startHttpService(t, { QRS_RATE_LIMIT: '100000', QRS_CORS_ORIGINS: 'https://app.example.com' });
  await service.publish(7, 'n\n1\n2\n3\n');
  const longest = [`X-Request-Id: ${'r'.repeat(128)}`, 'Origin: https://app.example.com', 'Connection: close'];
  const seen = new Set<string>();
  const law = fc.asyncProperty(
    fc.oneof(fc.nat({ max: 19_000 }), fc.integer({ min: 1700, max: 2200 }), fc.integer({ min: 5600, max: 6600 })),
    fc.constantFrom('json', 'csv', 'ndjson', 'parquet'),
    fc.constantFrom('', 'If-None-Match: *'),
    async (blanks, format, condition) => {
      const path = `/v1/query/7/results?limit=1&format=${format}&filters=n${'+'.repeat(blanks)}>0`;
      const { bytes, status, headers } = await headOf(
        service,
        path,
        condition === '' ? longest : [...longest, condition],
      );
      assert(bytes < HEAD_BYTES_MAX, `${bytes} bytes of head`);
      const isUnchanged = status.includes(' 304 ');
      assert(isUnchanged || status.includes(' 200 '), status);
      // A client that has the answer already gets a 304. For that nothing is read, so whether a page follows is not known.
      if (isUnchanged && !headers.has('link') && !headers.has('x-service-next-offset')) return;
      if (format !== 'json') {
        assert.equal(headers.get('x-service-next-offset'), 'x-service-next-offset: 1');
        assert.equal(headers.get('x-dune-next-offset'), 'x-dune-next-offset: 1');
      }
      const hasLink = headers.has('link');
      const uris = NEXT_URIS.filter((name) => headers.has(name)).length;
      assert(uris === 0 || (hasLink && uris === NEXT_URIS.length), `Link: ${hasLink}, ${uris} more`);
      if (!isUnchanged) seen.add(`${format} ${hasLink} ${uris}`);
      // An address is left out only where there is no room for it.
      if (!hasLink) assert(blanks > 5000);
      if (format !== 'json' && uris === 0) assert(blanks > 1700);
    },
  );
  await fc.assert(law, {
    numRuns: 60,
    examples: [
      [0, 'csv', ''],
      [3000, 'csv', ''],
      [10_000, 'csv', ''],
      [10_000, 'json', ''],
    ],
  });
  for (const way of ['csv true 2', 'csv true 0', 'csv false 0', 'json false 0']) assert(seen.has(way), way);
});

test('an address that is too long for the head is in the body of JSON; CSV goes on by the offset', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n2\n3\n');
  const path = (format: string, offset: number) =>
    `/v1/query/7/results?limit=1&format=${format}&offset=${offset}&filters=n${'+'.repeat(10_000)}>0`;
  const { next_uri } = await service.json(path('json', 0));
  assert.deepEqual((await service.json(String(next_uri).replace(service.url, ''))).next_offset, 2);
  const rows: string[] = [];
  for (let offset: string | null = '0'; offset !== null; ) {
    const page: Response = await service.get(path('csv', Number(offset)));
    rows.push((await page.text()).split('\n')[1] ?? '');
    offset = page.headers.get('x-service-next-offset');
  }
  assert.deepEqual(rows, ['1', '2', '3']);
});
