/** The routes of results and status, under one prefix. They hold no logic: each names a target and a format. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Instant } from '../domain/instant.ts';
import type { ResultsDeps } from '../results/deps.ts';
import { answerDiff, type DiffTargets } from '../results/diff/answer-diff.ts';
import { answerResults } from '../results/pipeline.ts';
import { acceptedFormat } from '../results/request/accept-format.ts';
import { parseRange } from '../results/request/byte-range.ts';
import type { CachePolicy } from '../results/request/cache-policy.ts';
import { type Format, namedFormat } from '../results/request/format.ts';
import { parseQueryString, type QueryParameters } from '../results/request/query-string.ts';
import type { ResultsRequest, Target } from '../results/request/results-request.ts';
import { wantsSha256 } from '../results/request/want-digest.ts';
import { answerStatistics } from '../results/statistics/answer-statistics.ts';
import { answerStatus } from '../results/status.ts';
import { principalOf, queryStringOf } from './authenticate.ts';
import { clientUrlOf } from './client-url.ts';
import { goneSignal } from './gone-signal.ts';
import { compressAhead, type SendOptions, sendAnswer } from './send-answer.ts';

export interface ResultsRoutesOptions extends SendOptions {
  /** Scheme and host for `next_uri`; undefined: as the client addressed the service. */
  readonly publicUrl: string | undefined;
  /** Curated datasets: the path below the prefix, and the query that it serves. */
  readonly datasets: readonly DatasetRoute[];
}

export interface DatasetRoute {
  readonly path: string;
  readonly queryId: number;
  /** When the next refresh is due. */
  readonly nextRefresh: () => Instant;
  /** When the one before was due. */
  readonly lastRefresh: () => Instant;
}

export function resultsRoutes(
  server: FastifyInstance,
  prefix: string,
  deps: ResultsDeps,
  options: ResultsRoutesOptions,
): void {
  const requestOf = requestsBelow(prefix, options);
  const results = (
    path: string,
    ending: Ending,
    targetOf: (request: FastifyRequest) => Target,
    cachePolicyNow: () => CachePolicy,
  ) =>
    server.route({
      method: ['GET', 'HEAD'],
      url: prefix + path,
      handler: async (request, reply) => {
        const cachePolicy = cachePolicyNow();
        const asked = requestOf(request, targetOf(request), ending, cachePolicy);
        const answer = await answerResults(asked, principalOf(request), deps, request.stats, goneSignal(reply));
        if (answer.terms !== undefined) request.reusable = { ...answer.terms, cachePolicy: cachePolicyNow };
        return await sendAnswer(answer, request, reply, options);
      },
    });
  results('/execution/:id/results', 'any', executionOf, immutable);
  results('/execution/:id/results/csv', 'csv', executionOf, immutable);
  results('/query/:id/results', 'any', queryOf, revalidate);
  results('/query/:id/results/csv', 'csv', queryOf, revalidate);
  for (const { path, queryId, nextRefresh, lastRefresh } of options.datasets) {
    const target = { kind: 'dataset', queryId: String(queryId) } as const;
    results(
      path,
      'any',
      () => target,
      () => ({ kind: 'until', instant: nextRefresh(), since: lastRefresh() }),
    );
  }
  besidesRows(server, prefix, deps, options, requestOf);
}

type MakeRequest = (
  request: FastifyRequest,
  target: Target,
  ending: Ending,
  cachePolicy: CachePolicy,
) => ResultsRequest;

/** What is asked for by requests below the prefix. */
export function requestsBelow(
  prefix: string,
  { publicUrl, compressed }: Pick<ResultsRoutesOptions, 'publicUrl' | 'compressed'>,
): MakeRequest {
  return (request, target, ending, cachePolicy) => {
    const parameters = parseQueryString(queryStringOf(request));
    return {
      target,
      format: formatOf(request, parameters, ending),
      cachePolicy,
      parameters,
      ifNoneMatch: request.headers['if-none-match'],
      isHead: request.method === 'HEAD',
      // HEAD is of the whole answer (RFC 9110 §14.2).
      range: request.method === 'HEAD' ? undefined : parseRange(request.headers.range),
      ifRange: headerText(request.headers['if-range']),
      wantsDigest: wantsSha256(request.headers['want-repr-digest']),
      base: (publicUrl ?? clientUrlOf(request)) + prefix,
      prepareNext: (byteChunks, etag) => compressAhead(byteChunks, etag, request, { compressed }),
    };
  };
}

/** What executions and queries are asked for besides their rows. */
function besidesRows(
  server: FastifyInstance,
  prefix: string,
  deps: ResultsDeps,
  options: ResultsRoutesOptions,
  requestOf: MakeRequest,
): void {
  for (const [path, cachePolicy] of [
    ['/execution/:id/diff/:other', immutable],
    ['/query/:id/diff', revalidate],
  ] as const) {
    server.route({
      method: ['GET', 'HEAD'],
      url: prefix + path,
      handler: async (request, reply) => {
        const targets = diffTargets(request);
        const asked = requestOf(request, targets.to, 'any', cachePolicy());
        const by = { principal: principalOf(request), stats: request.stats, signal: goneSignal(reply) };
        return await sendAnswer(await answerDiff(asked, targets, by, deps), request, reply, options);
      },
    });
  }
  for (const [name, answerOf] of OF_EXECUTIONS) {
    server.route({
      method: ['GET', 'HEAD'],
      url: `${prefix}/execution/:id/${name}`,
      handler: async (request, reply) => {
        const asked = requestOf(request, executionOf(request), 'json', immutable());
        const answer = await answerOf(asked, principalOf(request), deps, request.stats, goneSignal(reply));
        return await sendAnswer(answer, request, reply, options);
      },
    });
  }
}

/** The difference of two runs, named by themselves, or by the times at which they were the latest of a query. */
function diffTargets(request: FastifyRequest): DiffTargets {
  const { id = '', other } = request.params as { readonly id?: string; readonly other?: string };
  if (other === undefined) {
    return { from: { kind: 'query', queryId: id, asOf: 'from' }, to: { kind: 'query', queryId: id, asOf: 'to' } };
  }
  return { from: { kind: 'execution', executionId: other }, to: { kind: 'execution', executionId: id } };
}

/** What an execution is asked for besides its rows. */
const OF_EXECUTIONS = [
  ['status', answerStatus],
  ['statistics', answerStatistics],
] as const;

/** The format that an address has; `any`: what is asked for. */
type Ending = Format | 'any';

function formatOf(request: FastifyRequest, parameters: QueryParameters, ending: Ending): Format {
  return ending === 'any' ? (namedFormat(parameters) ?? acceptedFormat(request.headers.accept)) : ending;
}

/** A header that may be sent once. */
function headerText(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const immutable = (): CachePolicy => ({ kind: 'immutable' });
const revalidate = (): CachePolicy => ({ kind: 'revalidate' });

function executionOf(request: FastifyRequest): Target {
  return { kind: 'execution', executionId: idOf(request) };
}

function queryOf(request: FastifyRequest): Target {
  return { kind: 'query', queryId: idOf(request) };
}

function idOf(request: FastifyRequest): string {
  return (request.params as { readonly id: string }).id;
}
