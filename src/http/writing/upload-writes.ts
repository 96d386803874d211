/**
 * Results over HTTP (contract §9). The request's body is a file, which becomes the result of a run: a new run, or one begun
 * before. The body is written to staging as it arrives; the rest is what `qrs publish` does.
 */
import type { Readable } from 'node:stream';
import { type CatalogTransaction, IllegalTransition, RUN_BY_ENGINE } from '../../catalog/catalog.ts';
import type { ColumnType } from '../../domain/column-type.ts';
import { type Execution, STATES } from '../../domain/execution.ts';
import { parametersProblem } from '../../domain/run-input.ts';
import { shortened } from '../../domain/shortened.ts';
import { TypeDeclarationError, typeDeclarations } from '../../domain/type-declarations.ts';
import { RequestError } from '../../errors/errors.ts';
import { parameterOf, type QueryParameters } from '../../results/request/query-string.ts';
import { queryParametersOf } from '../../results/request/results-request.ts';
import { writableExecution, writableQuery } from './authorize.ts';
import { type BodyDescription, describeBody } from './body-description.ts';
import { executionBody } from './execution-writes.ts';
import type { UploadSlots } from './upload-slots.ts';
import type { StreamHandler, WriteDeps, WriteRequest, WriteRoute } from './write-request.ts';

export interface Upload extends BodyDescription {
  readonly keyId: string;
  readonly queryId: number;
  /** Begins to flow when it is first asked for. */
  readonly body: () => Readable;
  /** How long it is said to be; 0 where that is not said. */
  readonly announcedBytes: number;
  readonly types: ReadonlyMap<string, ColumnType>;
  /** Of CSV; by its header when left out. */
  readonly delimiter?: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The run to complete; a new one when left out. */
  readonly executionId?: string;
  /** The transaction that makes the result exist. */
  readonly commit: (complete: (transaction: CatalogTransaction) => Promise<Execution>) => Promise<Execution>;
}

export interface UploadWritesDeps extends WriteDeps {
  readonly slots: UploadSlots;
  /** @throws RequestError for what is wrong with the upload; then nothing has changed */
  readonly publish: (upload: Upload, signal: AbortSignal) => Promise<Execution>;
}

type StreamRequest = Parameters<StreamHandler>[0];

export function uploadWrites(deps: UploadWritesDeps): readonly WriteRoute[] {
  return [
    {
      method: 'POST',
      path: '/query/:id/results',
      scope: 'write',
      handler: { kind: 'stream', handle: (request) => publishNew(request, deps) },
    },
    {
      method: 'PUT',
      path: '/execution/:id/results',
      scope: 'write',
      handler: { kind: 'stream', handle: (request) => publishBegun(request, deps) },
    },
  ];
}

async function publishNew(request: StreamRequest, deps: UploadWritesDeps) {
  const { principal, path, parameters } = request;
  const { id: queryId } = await writableQuery(deps.catalog, principal, path.id ?? '');
  const given = queryParametersOf(parameters);
  const problem = parametersProblem(given);
  if (problem !== undefined) throw new RequestError('invalid_parameter', `params.*: ${problem}`);
  return await publish(request, deps, { queryId, parameters: given });
}

async function publishBegun(request: StreamRequest, deps: UploadWritesDeps) {
  const { principal, path, parameters } = request;
  const { id, queryId, state } = await writableExecution(deps.catalog, principal, path.id ?? '', deps.clock());
  if (STATES[state].terminal) throw new IllegalTransition(id, state, 'COMPLETED');
  if (await deps.catalog.runs.has(id)) throw new IllegalTransition(id, state, 'COMPLETED', RUN_BY_ENGINE);
  if (Object.keys(queryParametersOf(parameters)).length > 0) {
    throw new RequestError('incompatible_parameters', 'params.*: the run has its parameters already');
  }
  return await publish(request, deps, { queryId, parameters: {}, executionId: id });
}

async function publish(
  request: StreamRequest,
  deps: UploadWritesDeps,
  target: Pick<Upload, 'queryId' | 'parameters' | 'executionId'>,
) {
  const { principal, parameters, stats, signal } = request;
  stats.queryId = target.queryId;
  refusePiece(request.header('content-range'));
  const description = describeBody(request.header('content-type'), request.header('content-encoding'));
  const types = typesOf(parameters);
  const delimiter = parameterOf(parameters, 'delimiter');
  using _ = deps.slots.take(principal.keyId);
  const execution = await deps.publish(
    {
      ...target,
      ...description,
      types,
      ...(delimiter !== undefined && { delimiter }),
      keyId: principal.keyId,
      body: request.body,
      announcedBytes: Number(request.header('content-length') ?? 0),
      commit: committing(request, target, deps),
    },
    signal,
  );
  stats.executionId = execution.id;
  return { status: 201, body: executionBody(execution, deps.clock()) };
}

/** As curl sends the rest of a file (`-C`). It would be taken for the whole file (RFC 9110 §14.5). */
function refusePiece(contentRange: string | undefined): void {
  if (contentRange === undefined) return;
  const found = `Content-Range: found "${shortened(contentRange, 60)}"`;
  throw new RequestError('invalid_result', `${found}, expected none: a file is sent whole, in one request`);
}

/** The right to write is checked again in the transaction, since an upload takes time. */
function committing(
  { commit }: Pick<WriteRequest, 'commit'>,
  { queryId }: Pick<Upload, 'queryId'>,
  { clock }: UploadWritesDeps,
): Upload['commit'] {
  return async (complete) => {
    let execution: Execution | undefined;
    await commit(async (transaction, principal) => {
      await writableQuery(transaction, principal, String(queryId));
      execution = await complete(transaction);
      return { status: 201, body: executionBody(execution, clock()) };
    });
    if (execution === undefined) throw new Error('a commit took no step');
    return execution;
  };
}

/** `types=price=decimal(10, 3),to=varbinary`; may be sent more than once. @throws RequestError invalid_parameter */
function typesOf(parameters: QueryParameters): ReadonlyMap<string, ColumnType> {
  try {
    return typeDeclarations(parameters.get('types')?.filter((text) => text !== '') ?? []);
  } catch (error) {
    if (error instanceof TypeDeclarationError) throw new RequestError('invalid_parameter', `types: ${error.message}`);
    throw error;
  }
}
