/** CSV that a proxy ended early, as if it were whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryResults } from '../src/index.ts';

const CSV = 'a,"b\nc"\n1,"x ""y""\nz"\n2,\n"",é\n';

/** A client whose answer is this, in chunks of so many bytes. */
function clientOf(csv: string, rowCount: string | undefined, chunkBytes = 1000) {
  const bytes = new TextEncoder().encode(csv);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, n) =>
    bytes.slice(n * chunkBytes, (n + 1) * chunkBytes),
  );
  const headers = { 'content-type': 'text/csv', ...(rowCount !== undefined && { 'x-service-row-count': rowCount }) };
  const body = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const one of chunks) controller.enqueue(one);
        controller.close();
      },
    });
  const fetch = async () => new Response(body(), { headers });
  return new QueryResults({ url: 'https://x.example', key: 'k', fetch });
}

test('CSV with as many rows as the service said is what came, however it comes', async () => {
  for (const chunkBytes of [1, 2, 7, 1000]) {
    assert.equal(await new Response(await clientOf(CSV, '3', chunkBytes).csv({ query: 7 })).text(), CSV);
  }
  assert.equal(await new Response(await clientOf('n\n', '0').csv({ query: 7 })).text(), 'n\n');
  // Where the service does not know the number, nothing is counted.
  assert.equal(await new Response(await clientOf('n\n1\n', undefined).csv({ query: 7 })).text(), 'n\n1\n');
});

test('CSV that ends early is an error, also between two rows', async () => {
  for (const length of [0, 3, 8, 22, CSV.length - 1]) {
    const stream = await clientOf(CSV.slice(0, length), '3').csv({ query: 7 });
    await assert.rejects(new Response(stream).text(), (error: Error) => {
      assert.equal(error.name, 'IncompleteResult');
      assert.match(error.message, /^\d rows have come, of 3 that the service said there are$/);
      return true;
    });
  }
});
