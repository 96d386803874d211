/** The endpoints that change something (contract §9), and those that only administrators may read. */
import { MEDIA_TYPES } from '../../results/request/format.ts';
import { errorResponses, type RequestKind } from './error-responses.ts';
import { type Operation, pathItem } from './path-item.ts';
import { writtenHeaders } from './response-headers.ts';
import { type Fragment, listOf, refTo } from './schema.ts';

type Paths = Readonly<Record<string, Fragment>>;

interface Write {
  readonly operationId: string;
  readonly tag: 'Queries' | 'Executions' | 'Shares' | 'Administration' | 'Webhooks';
  /** Of its failures; `writing` when left out. */
  readonly kind?: RequestKind;
  readonly summary: string;
  readonly description?: string;
  /** A schema by name; `file`: a result. */
  readonly body?: string;
  readonly parameters?: readonly Fragment[];
  readonly status: 200 | 201;
  /** A schema by name. */
  readonly answer: string;
}

const QUERY = [refTo('parameters', 'queryIdInPath')];
const EXECUTION = [refTo('parameters', 'executionIdInPath')];

const FILE = ['types', 'delimiter'].map((name) => refTo('parameters', name));
const LIST = ['longListLimit', 'listOffset'].map((name) => refTo('parameters', name));

export const REQUEST_BODIES: Readonly<Record<string, Fragment>> = {
  ResultFile: {
    description:
      'A file: Parquet, CSV or NDJSON, plain or compressed. It counts only when it has arrived whole and is stored; until then, and when anything is wrong with it, nothing has changed. `Content-Digest`, when sent, is checked.',
    required: true,
    content: Object.fromEntries(
      [...MEDIA_TYPES.parquet, ...MEDIA_TYPES.csv, ...MEDIA_TYPES.ndjson, 'application/octet-stream'].map((type) => [
        type,
        {},
      ]),
    ),
  },
};

const QUERY_STEPS = {
  archive: 'Serve what a query has, and take no new runs',
  unarchive: 'Take runs again',
  private: 'Let only its owner read a query',
  unprivate: 'Let everybody read a query',
} as const;

const EXECUTION_STEPS = {
  start: { summary: 'Record that a run has started', answer: 'Envelope' },
  fail: { summary: 'Record that a run has failed', body: 'RunError', answer: 'Envelope' },
  cancel: { summary: 'Cancel a run', answer: 'Done' },
} as const;

export function writingPaths(): Paths {
  return { ...queryPaths(), ...runPaths(), ...executionPaths(), ...administrationPaths() };
}

function queryPaths(): Paths {
  const tag = 'Queries';
  const step = (name: keyof typeof QUERY_STEPS): [string, Fragment] => [
    `/v1/query/{query_id}/${name}`,
    {
      parameters: QUERY,
      post: written({
        operationId: `${name}Query`,
        tag,
        summary: QUERY_STEPS[name],
        status: 200,
        answer: 'QueryId',
      }),
    },
  ];
  return {
    '/v1/query': {
      post: written({
        operationId: 'createQuery',
        tag,
        summary: 'Add a query',
        body: 'NewQuery',
        status: 201,
        answer: 'QueryId',
      }),
    },
    '/v1/query/{query_id}': {
      ...pathItem(
        {
          operationId: 'getQuery',
          tags: [tag],
          summary: 'What a query is',
          responses: { 200: read('Query'), ...errorResponses('reading') },
        },
        { parameters: QUERY },
      ),
      patch: written({
        operationId: 'updateQuery',
        tag,
        summary: 'Change a query',
        description: 'What the body does not name stays as it is; null takes away.',
        body: 'QueryChanges',
        status: 200,
        answer: 'QueryId',
      }),
    },
    ...Object.fromEntries((Object.keys(QUERY_STEPS) as (keyof typeof QUERY_STEPS)[]).map(step)),
    '/v1/query/{query_id}/results': {
      post: written({
        operationId: 'publishResult',
        tag,
        summary: 'Publish a result',
        body: 'file',
        parameters: [...FILE, refTo('parameters', 'queryParameters')],
        status: 201,
        answer: 'Envelope',
      }),
    },
    '/v1/query/{query_id}/executions': {
      parameters: QUERY,
      post: written({
        operationId: 'beginExecution',
        tag,
        summary: 'Begin a run whose engine is elsewhere',
        body: 'NewRun',
        status: 201,
        answer: 'Envelope',
      }),
    },
  };
}

function runPaths(): Paths {
  const tag = 'Queries';
  return {
    '/v1/query/{query_id}/execute': {
      parameters: QUERY,
      post: written({
        operationId: 'executeQuery',
        tag,
        summary: 'Run a query',
        description: 'The run waits in the queue: `/status` has its place, and `/results` its rows once it has ended.',
        body: 'RunRequest',
        status: 200,
        answer: 'SubmittedRun',
      }),
    },
    '/v1/sql/execute': {
      post: written({
        operationId: 'executeSql',
        tag,
        summary: 'Run SQL that is no query’s',
        description:
          'Only where `QRS_SQL_EXECUTE` allows it; otherwise there is no such address. Only the caller reads the run.',
        body: 'SqlRequest',
        status: 200,
        answer: 'SubmittedRun',
      }),
    },
  };
}

function executionPaths(): Paths {
  const tag = 'Executions';
  const steps = Object.entries(EXECUTION_STEPS).map(([name, words]) => [
    `/v1/execution/{execution_id}/${name}`,
    {
      parameters: EXECUTION,
      post: written({ operationId: `${name}Execution`, tag, status: 200, ...words }),
    },
  ]);
  return {
    ...Object.fromEntries(steps),
    '/v1/execution/{execution_id}/results': {
      put: written({
        operationId: 'publishExecutionResult',
        tag,
        summary: 'Publish the result of a run that was begun',
        body: 'file',
        parameters: FILE,
        status: 201,
        answer: 'Envelope',
      }),
    },
  };
}

function administrationPaths(): Paths {
  const tag = 'Administration';
  const name = pathParameter('name');
  const member = (operationId: string, summary: string) =>
    written({ operationId, tag, summary, status: 200, answer: 'Done' });
  const list = (plural: string, schema: string, operationId: string, post: Fragment): [string, Fragment] => [
    `/v1/${plural}`,
    {
      ...pathItem({
        operationId,
        tags: [tag],
        summary: `The ${plural} that there are`,
        parameters: LIST,
        responses: {
          200: answered(listOf(plural, refTo('schemas', schema))),
          ...errorResponses('reading'),
        },
      }),
      post,
    },
  ];
  const add = (operationId: string, schema: string, answer = schema) =>
    written({
      operationId,
      tag,
      summary: `Add a ${schema.toLowerCase()}`,
      body: `New${schema}`,
      status: 201,
      answer,
    });
  return Object.fromEntries([
    list('users', 'User', 'getUsers', add('addUser', 'User')),
    list('teams', 'Team', 'getTeams', add('addTeam', 'Team')),
    list('keys', 'Key', 'getKeys', add('createKey', 'Key', 'CreatedKey')),
    [
      '/v1/users/{name}',
      {
        parameters: [name],
        delete: member('removeUser', 'Remove a user: ends the keys; refused while the user owns queries'),
      },
    ],
    ['/v1/keys/{name}', { parameters: [name], delete: member('revokeKey', 'Revoke a key, by its id') }],
    [
      '/v1/teams/{name}/members/{user}',
      {
        parameters: [name, pathParameter('user')],
        put: member('addTeamMember', 'Put a user into a team'),
        delete: member('removeTeamMember', 'Take a user out of a team'),
      },
    ],
  ]);
}

export function written(operation: Write): Operation {
  const { operationId, tag, kind = 'writing', summary, description, body, parameters = [], status, answer } = operation;
  return {
    operationId,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    parameters: [...parameters, refTo('parameters', 'idempotencyKey')],
    ...(body !== undefined && { requestBody: requestBody(body) }),
    responses: {
      [status]: { ...answered(refTo('schemas', answer)), headers: writtenHeaders() },
      ...errorResponses(kind),
    },
  };
}

function requestBody(body: string): Fragment {
  if (body === 'file') return refTo('requestBodies', 'ResultFile');
  return { content: { 'application/json': { schema: refTo('schemas', body) } } };
}

function read(schema: string): Fragment {
  return answered(refTo('schemas', schema));
}

export function answered(schema: Fragment): Fragment {
  return { description: 'It is.', content: { 'application/json': { schema } } };
}

export function pathParameter(name: string): Fragment {
  return { name, in: 'path', required: true, schema: { type: 'string' } };
}

/** Operations on one address, from several tables. What one table says of all operations then holds for its own alone. */
export function joinPaths(reading: Paths, writing: Paths): Paths {
  const joined = Object.entries(writing).map(([path, item]) => {
    const there = reading[path] as { readonly parameters?: readonly { readonly $ref?: string }[] } | undefined;
    if (there === undefined) return [path, item] as const;
    const { parameters = [], ...operations } = there;
    const isOfPath = ({ $ref }: { readonly $ref?: string }) => $ref?.endsWith('InPath') === true;
    const others = parameters.filter((parameter) => !isOfPath(parameter));
    const own = Object.entries(operations).map(([name, operation]) => [
      name,
      { ...(operation as Fragment), parameters: others },
    ]);
    return [path, { parameters: parameters.filter(isOfPath), ...Object.fromEntries(own), ...item }] as const;
  });
  return { ...reading, ...Object.fromEntries(joined) };
}
