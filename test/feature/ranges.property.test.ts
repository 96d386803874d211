/**
 * The law of ranges. A part of an answer is that slice of the whole with the same tag, in every format and content encoding, of
 * any size. Joined parts are the whole. `If-Range` gives a part of that very answer, or all of another.
 */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { openAnswer } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { publishLongResult } from './long-result.ts';
import { Random } from './random-results.ts';

const SEED = Number(process.env.TEST_SEED ?? 20_261_122);
const CASES = Number(process.env.TEST_CASES ?? 12);
const ENCODINGS = ['identity', 'gzip', 'br', 'zstd', 'gzip, br;q=0.5'];

interface Seen {
  readonly status: number;
  readonly etag: string;
  readonly encoding: string | undefined;
  readonly range: string | undefined;
  readonly body: Buffer;
}

async function ask(service: HttpService, path: string, headers: Readonly<Record<string, string>>): Promise<Seen> {
  const answer = await openAnswer(service.url, path, { 'x-service-api-key': service.key, ...headers }, 'GET');
  const body = await buffer(answer);
  if (answer.statusCode !== 416) assert.equal(answer.headers['accept-ranges'], 'bytes', path);
  if (answer.statusCode === 206) assert.equal(answer.headers['content-length'], String(body.byteLength), path);
  return {
    status: answer.statusCode ?? 0,
    etag: answer.headers.etag ?? '',
    encoding: answer.headers['content-encoding'],
    range: answer.headers['content-range'],
    body,
  };
}

/** Answers that are finished in memory or in a file, and answers that are sent while they are read. */
async function addresses(
  service: HttpService,
): Promise<readonly { readonly path: string; readonly isWhole: boolean }[]> {
  const text = Array.from({ length: 3000 }, (_, n) => `${n},${n / 7},"wörd ${n % 10}"`).join('\n');
  const { id } = await service.publish(7, `n,d,w\n${text}\n`, { rowGroupRows: 256, rowGroupsPerPart: 2 });
  await publishLongResult(service, 8);
  const failed = await service.commandLine.get('executions', 'submit', '--query', '7');
  await service.commandLine.get('executions', 'fail', failed, '--message', 'no such table');
  const whole = [
    `/v1/execution/${id}/results`,
    `/v1/execution/${id}/results?limit=1`,
    `/v1/execution/${id}/results/csv?limit=500&offset=77`,
    `/v1/query/7/results?format=ndjson&filters=n<900&sort_by=w,n%20desc`,
    `/v1/execution/${id}/results?format=parquet&filters=n%3C2900`,
    `/v1/query/8/results?format=parquet&limit=20000`,
    `/v1/execution/${id}/status`,
    `/v1/execution/${failed}/results`,
    '/openapi.json',
    '/docs',
  ];
  const streamed = ['csv', 'ndjson', 'json'].map(
    (format) => `/v1/query/8/results?format=${format}&ignore_max_datapoints_per_request=true`,
  );
  return [...whole.map((path) => ({ path, isWhole: true })), ...streamed.map((path) => ({ path, isWhole: false }))];
}

/** A Range header, and the slice that it means of so many bytes. */
function randomRange(
  random: Random,
  bytes: number,
): { readonly header: string; readonly from: number; readonly to: number } {
  const [a, b] = [random.below(bytes), random.below(bytes)].sort((x, y) => x - y) as [number, number];
  switch (random.below(4)) {
    case 0:
      return { header: `bytes=${a}-`, from: a, to: bytes };
    case 1:
      return { header: `bytes=-${b + 1}`, from: bytes - b - 1, to: bytes };
    case 2:
      return { header: `bytes=${a}-${bytes + b}`, from: a, to: bytes };
    default:
      return { header: `bytes=${a}-${b}`, from: a, to: b + 1 };
  }
}

test(`a part is the slice of the whole with the same tag (TEST_SEED=${SEED})`, async (t) => {
  const service = await startHttpService(t);
  const random = new Random(SEED);
  for (const { path, isWhole } of await addresses(service)) {
    /** By tag. */
    const wholes = new Map<string, Buffer>();
    for (const encoding of ENCODINGS) {
      // Several times, so that the answer comes from every place that it may come from.
      for (let time = 0; time < (isWhole ? 3 : 1); time += 1) {
        const { status, etag, body } = await ask(service, path, { 'accept-encoding': encoding });
        assert.equal(status, 200);
        // A stream may be compressed in different pieces each time. Decompressed it is the same, and it has no ranges.
        assert.equal(etag.startsWith('W/'), !isWhole && etag.includes('+'), path);
        if (!etag.startsWith('W/')) assert(wholes.get(etag)?.equals(body) ?? true, path);
        wholes.set(etag, body);
      }
    }
    for (let n = 0; n < CASES; n += 1) {
      const accepted = { 'accept-encoding': random.pick(ENCODINGS) };
      const [tag, of] = random.pick([...wholes]);
      const { header, from, to } = randomRange(random, of.byteLength);
      const told = `${path} ${header} of ${tag} for ${accepted['accept-encoding']}`;

      const plain = await ask(service, path, { ...accepted, range: header });
      const same = wholes.get(plain.etag) ?? assert.fail(told);
      const [start = 0, end = 0, total] = (plain.range ?? '').match(/\d+/g)?.map(Number) ?? [];
      if (plain.status === 206) {
        assert.equal(total, same.byteLength, told);
        assert(plain.body.equals(same.subarray(start, end + 1)), told);
      } else assert.deepEqual([plain.status, from >= same.byteLength], [416, true], told);

      const { status, etag, body } = await ask(service, path, { ...accepted, range: header, 'if-range': tag });
      if (etag !== tag) assert.equal(status, 200, told);
      else if (status === 206) assert(body.equals(of.subarray(from, to)), told);
      else assert.deepEqual([status, isWhole || tag.includes('+')], [200, !isWhole], told);

      const cut = 1 + random.below(of.byteLength - 1);
      if (etag !== tag || status === 200) continue;
      const head = await ask(service, path, { ...accepted, range: `bytes=0-${cut - 1}`, 'if-range': tag });
      const tail = await ask(service, path, { ...accepted, range: `bytes=${cut}-`, 'if-range': tag });
      assert(Buffer.concat([head.body, tail.body]).equals(of), `${told}: cut at ${cut}`);
    }
  }
});
