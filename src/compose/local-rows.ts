/**
 * Reads rows of a result from the data directory, without a service: opens the read path as the server does, and asks it once.
 * Whoever may read the data directory may read everything in it, so each query is read as its owner.
 */
import type { Principal } from '../domain/principal.ts';
import { RequestStats } from '../observation/request-stats.ts';
import { ALONE } from '../replicas/live-replicas.ts';
import { bytesOf } from '../results/answer.ts';
import { answerResults } from '../results/pipeline.ts';
import type { Format } from '../results/request/format.ts';
import { parseQueryString } from '../results/request/query-string.ts';
import { type Target, wholeRequest } from '../results/request/results-request.ts';
import { openReadPath, type ReadPathEffects } from './read-path.ts';
import type { Service } from './service.ts';

export interface LocalRowsRequest {
  readonly target: Target;
  readonly format: Format;
  /** The parameters, as after the `?` of an address. */
  readonly queryString: string;
}

/**
 * @returns the bytes that the service would answer with; everything is closed when they have been read
 * @throws RequestError as the service would answer
 */
export async function* localRows(
  service: Service,
  { target, format, queryString }: LocalRowsRequest,
  effects: Omit<ReadPathEffects, 'replicas'>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using opened = new AsyncDisposableStack();
  const { results } = await openReadPath(service, { ...effects, replicas: ALONE }, opened);
  const request = wholeRequest({ target, format, parameters: parseQueryString(queryString), base: '' });
  const principal = await ownerOf(target, service);
  const { body } = await answerResults(request, principal, results, new RequestStats(), signal);
  yield* bytesOf(body);
}

/**
 * The principal that may read it. If it does not exist: one that may read nothing, so that the read path says what is missing.
 */
async function ownerOf(target: Target, service: Service): Promise<Principal> {
  const catalog = await service.catalog();
  const execution = target.kind === 'execution' ? await catalog.executions.find(target.executionId) : undefined;
  const queryId = target.kind === 'execution' ? execution?.queryId : Number(target.queryId);
  const query = queryId === undefined ? undefined : await catalog.queries.find(queryId);
  const owner = query?.owner ?? { kind: 'user', name: '' };
  return { keyId: '', owner, teams: owner.kind === 'team' ? [owner.name] : [], scope: 'read' };
}
