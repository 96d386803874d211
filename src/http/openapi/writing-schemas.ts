/** The bodies of requests that change something, and of their answers. */
import { DESCRIPTION_LENGTH_MAX } from '../../domain/column-descriptions.ts';
import {
  QUERY_DESCRIPTION_LENGTH_MAX,
  QUERY_NAME_LENGTH_MAX,
  QUERY_PARAMETER_TYPES,
  TAGS_MAX,
} from '../../domain/query.ts';
import { SCOPES } from '../../domain/scope.ts';
import { extended, type Fragment, INSTANT, object, openObject, QUERY_ID, refTo, TEXT } from './schema.ts';

const PARAMETER_TYPE: Fragment = { type: 'string', enum: QUERY_PARAMETER_TYPES };
const ENUM_OPTIONS: Fragment = { type: 'array', items: TEXT };

const PARAMETER = object(
  {
    key: TEXT,
    type: PARAMETER_TYPE,
    value: { type: 'string', description: 'What holds where a run names no value.' },
    enumOptions: ENUM_OPTIONS,
  },
  ['value', 'enumOptions'],
);

/** As it is sent: what is left out has a default, and clients send numbers as numbers. */
const NEW_PARAMETER = object(
  {
    key: TEXT,
    type: { ...PARAMETER_TYPE, default: 'text' },
    value: { type: ['string', 'number'] },
    enumOptions: ENUM_OPTIONS,
  },
  ['type', 'value', 'enumOptions'],
);

const RUN_PARAMETERS: Fragment = {
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean'] },
};

const DEFINITION: Fragment = {
  name: { type: ['string', 'null'], maxLength: QUERY_NAME_LENGTH_MAX },
  description: { type: ['string', 'null'], maxLength: QUERY_DESCRIPTION_LENGTH_MAX },
  tags: { type: ['array', 'null'], items: TEXT, maxItems: TAGS_MAX },
  column_descriptions: {
    type: ['object', 'null'],
    additionalProperties: { type: ['string', 'null'], maxLength: DESCRIPTION_LENGTH_MAX },
    description: 'What columns mean, by their names: all of them, instead of those before.',
  },
  query_sql: { type: ['string', 'null'], description: 'What the engine runs; none where an engine elsewhere does.' },
  parameters: { type: ['array', 'null'], items: refTo('schemas', 'NewQueryParameter') },
  query_parameters: {
    ...RUN_PARAMETERS,
    type: ['array', 'object', 'null'],
    items: refTo('schemas', 'NewQueryParameter'),
    description: 'The same as `parameters`, or values by name: each then has the type that its value looks like.',
  },
  schedule: { type: ['string', 'null'], description: 'A cron expression in UTC.' },
  is_private: { type: 'boolean' },
  is_archived: { type: 'boolean', description: 'An archived query is served, not run.' },
};

const PERFORMANCE: Fragment = {
  type: 'string',
  description: 'Taken from clients of the hosted API; it changes nothing.',
};

const TERMS: Fragment = {
  name: TEXT,
  scope: { type: 'string', enum: SCOPES },
  expires_at: INSTANT,
};

const KEY: Fragment = {
  id: TEXT,
  user: TEXT,
  team: TEXT,
  ...TERMS,
  created_at: INSTANT,
  last_used_at: INSTANT,
  revoked_at: INSTANT,
};
const KEY_OPTIONAL = ['user', 'team', 'name', 'expires_at', 'last_used_at', 'revoked_at'];

const USER = object({ name: TEXT, created_at: INSTANT });
const TEAM = object({ name: TEXT, members: { type: 'array', items: TEXT }, created_at: INSTANT });

export const LIST_SCHEMAS: Readonly<Record<string, Fragment>> = {
  /** What every list has beside its items. */
  List: openObject(
    {
      total: { type: 'integer', minimum: 0 },
      next_offset: { type: 'integer', minimum: 1 },
      next_uri: { type: 'string', format: 'uri' },
    },
    ['next_offset', 'next_uri'],
  ),
};

/** What a query says of itself, wherever it is shown. */
const QUERY_PROPERTIES: Fragment = {
  query_id: QUERY_ID,
  name: TEXT,
  description: TEXT,
  tags: { type: 'array', items: TEXT },
  version: { type: 'integer', minimum: 1, description: 'One more with each change.' },
  owner: TEXT,
  parameters: { type: 'array', items: refTo('schemas', 'QueryParameter') },
  query_engine: TEXT,
  query_sql: { type: 'string', description: 'For keys of its owner.' },
  schedule: TEXT,
  is_private: { type: 'boolean' },
  is_archived: { type: 'boolean' },
  is_unsaved: { const: false },
  created_at: INSTANT,
  updated_at: INSTANT,
  latest_execution: refTo('schemas', 'LatestExecution'),
};

export const WRITING_SCHEMAS: Readonly<Record<string, Fragment>> = {
  QueryParameter: PARAMETER,
  NewQueryParameter: NEW_PARAMETER,
  QueryDefinition: openObject(DEFINITION, Object.keys(DEFINITION)),
  QueryChanges: extended('QueryDefinition', {}),
  NewQuery: extended('QueryDefinition', { query_id: { ...QUERY_ID, description: 'The next one, when absent.' } }, [
    'query_id',
  ]),
  QueryId: object({ query_id: QUERY_ID }),
  QueryFields: openObject(QUERY_PROPERTIES, ['query_sql', 'schedule', 'latest_execution']),
  ListedQuery: extended('QueryFields', {}),
  Query: extended(
    'QueryFields',
    {
      columns: { type: 'array', items: refTo('schemas', 'QueryColumn'), description: 'Of the latest result.' },
      column_descriptions: {
        type: 'object',
        additionalProperties: TEXT,
        description: 'What columns mean, by name, those too that the latest result does not have.',
      },
    },
    ['columns', 'column_descriptions'],
  ),
  NewRun: object({ query_parameters: RUN_PARAMETERS }, ['query_parameters']),
  RunRequest: object({ query_parameters: RUN_PARAMETERS, performance: PERFORMANCE }, [
    'query_parameters',
    'performance',
  ]),
  SqlRequest: object({ sql: TEXT, performance: PERFORMANCE }, ['performance']),
  SubmittedRun: object({ execution_id: TEXT, state: TEXT }),
  RunError: object(
    {
      type: TEXT,
      message: TEXT,
      metadata: object({ line: QUERY_ID, column: QUERY_ID }, ['line', 'column']),
    },
    ['type', 'metadata'],
  ),
  Done: object({ success: { const: true }, changed: { type: 'boolean' } }, ['changed']),
  User: USER,
  NewUser: object({ name: TEXT }),
  Team: TEAM,
  NewTeam: object({ name: TEXT, members: { type: 'array', items: TEXT } }, ['members']),
  KeyFields: openObject(KEY, KEY_OPTIONAL),
  Key: extended('KeyFields', {}),
  NewKey: object(
    {
      user: TEXT,
      team: TEXT,
      name: TEXT,
      scope: TERMS.scope,
      expires_in: { type: 'integer', minimum: 1, description: 'Seconds.' },
    },
    ['user', 'team', 'name', 'scope', 'expires_in'],
  ),
  CreatedKey: extended(
    'KeyFields',
    {
      key: { type: 'string', description: 'Shown this once, not again under an idempotency key.' },
    },
    ['key'],
  ),
};
