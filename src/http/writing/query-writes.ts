/** Queries over HTTP: adding, changing, archiving them, and making them private (contract §9). */
import { isDeepStrictEqual } from 'node:util';
import {
  type ColumnDescriptions,
  DESCRIPTION_LENGTH_MAX,
  descriptionsProblem,
} from '../../domain/column-descriptions.ts';
import { CronError, checkCron } from '../../domain/cron.ts';
import { checkParameters, ParameterError } from '../../domain/parameter-values.ts';
import {
  type NewQuery,
  QUERY_DESCRIPTION_LENGTH_MAX,
  QUERY_NAME_LENGTH_MAX,
  QUERY_PARAMETER_TYPES,
  type Query,
  type QueryChanges,
  type QueryDefinition,
  type QueryParameter,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  whatRuns,
} from '../../domain/query.ts';
import { PARAMETER_NAME_LENGTH_MAX, PARAMETER_VALUE_LENGTH_MAX, PARAMETERS_MAX } from '../../domain/run-input.ts';
import { scheduleProblem } from '../../domain/schedule-problem.ts';
import { RequestError } from '../../errors/errors.ts';
import { writableQuery } from './authorize.ts';
import { isNumber } from './exact-number.ts';
import {
  bad,
  boolean,
  integer,
  isObject,
  list,
  nullable,
  oneOf,
  orElse,
  type ReadField,
  readFields,
  required,
  text,
} from './fields.ts';
import type { QueryChecks } from './query-checks.ts';
import { PARAMETERS as PARAMETER_VALUES } from './query-parameters.ts';
import {
  type Commit,
  type JsonHandler,
  jsonWrite,
  type WriteAnswer,
  type WriteDeps,
  type WriteRoute,
} from './write-request.ts';

export interface QueryWritesDeps extends WriteDeps {
  /** Ids from here on are reserved: a query that is added never gets one. */
  readonly reservedIdsFrom: number;
  readonly queryChecks: QueryChecks;
  /** Why a query may not be changed so, whoever asks; undefined when it may. */
  readonly changeProblem: (query: Query, changes: QueryChanges) => Promise<string | undefined>;
}

export const SQL_LENGTH_MAX = 500_000;

export function queryWrites(deps: QueryWritesDeps): readonly WriteRoute[] {
  const step = (name: string, changes: QueryChanges): WriteRoute => {
    const changesOf = (body: unknown) => {
      readFields(body, {});
      return changes;
    };
    return jsonWrite('POST', `/query/:id/${name}`, 'write', changing(deps, changesOf));
  };
  return [
    jsonWrite('POST', '/query', 'write', adding(deps)),
    jsonWrite('PATCH', '/query/:id', 'write', changing(deps, readDefinition)),
    step('archive', { isArchived: true }),
    step('unarchive', { isArchived: false }),
    step('private', { visibility: 'private' }),
    step('unprivate', { visibility: 'public' }),
  ];
}

function adding(deps: QueryWritesDeps): JsonHandler {
  return async (request) => {
    const { principal, stats } = request;
    const { query_id: id, ...rest } = readFields(await request.body(), {
      ...DEFINITION,
      query_id: newId(deps.reservedIdsFrom),
    });
    const definition = definitionOf(rest);
    const { visibility = 'public', ...more } = definition;
    requireRunnable(undefined, definition);
    await checkQuery(definition, deps, request);
    const query: Omit<NewQuery, 'id'> = { ...withoutUndefined(more), owner: principal.owner, visibility };
    return await request.commit(async ({ queries }) => {
      const now = deps.clock();
      const added =
        id === undefined
          ? await queries.addWithNextId(query, now, deps.reservedIdsFrom)
          : await queries.add({ ...query, id }, now);
      stats.queryId = added.id;
      return { status: 201, body: { query_id: added.id } };
    });
  };
}

/** What the changes were checked against is no longer so: another request has changed it meanwhile. */
class ChangedMeanwhile extends Error {}
/** So many changes of others are checked against. */
const ATTEMPTS_MAX = 20;

/** @param changesOf reads the changes from the body; a field that is left out stays as it is */
function changing(deps: QueryWritesDeps, changesOf: (body: unknown) => QueryChanges): JsonHandler {
  return async (request) => {
    const { principal, path, stats } = request;
    const { id = '' } = path;
    let query = await writableQuery(deps.catalog, principal, id);
    stats.queryId = query.id;
    const changes = changesOf(await request.body());
    for (let attempt = 1; ; attempt += 1) {
      await requireChangeable(query, changes, deps);
      requireRunnable(query, changes);
      if (changes.sql !== undefined || changes.parameters !== undefined) {
        await checkQuery({ ...query, ...changes }, deps, request);
      }
      try {
        return await commitChange(request.commit, async (transaction, current) => {
          // Read again in this transaction: the query may have been changed, or given to another owner, in the meantime.
          const now = await writableQuery(transaction, current, id);
          if (!isDeepStrictEqual(whatRuns(now), whatRuns(query))) throw new ChangedMeanwhile();
          await transaction.queries.update(query.id, changes, deps.clock());
          return { query_id: query.id };
        });
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile)) throw error;
        if (attempt === ATTEMPTS_MAX) {
          throw new RequestError(
            'overloaded',
            `the query ${id} is being changed all the time; try again in some seconds`,
          );
        }
        query = await writableQuery(deps.catalog, principal, id);
      }
    }
  };
}

/** Whether the engine could run it; without SQL, whether the parameters are what they say. @throws RequestError invalid_query */
async function checkQuery(
  { sql, parameters = [] }: Pick<QueryChanges, 'sql' | 'parameters'>,
  { queryChecks }: QueryWritesDeps,
  request: Parameters<JsonHandler>[0],
): Promise<void> {
  if (sql !== undefined) return await queryChecks.check(sql, parameters, request);
  try {
    checkParameters(parameters);
  } catch (error) {
    if (!(error instanceof ParameterError)) throw error;
    throw new RequestError('invalid_query', error.message);
  }
}

/** @throws RequestError invalid_query */
async function requireChangeable(
  query: Query,
  changes: QueryChanges,
  { changeProblem }: QueryWritesDeps,
): Promise<void> {
  const problem = await changeProblem(query, changes);
  if (problem !== undefined) throw new RequestError('invalid_query', problem);
}

/** @throws RequestError where the query would have a schedule that could not run it */
function requireRunnable(before: Query | undefined, changes: QueryChanges): void {
  const problem = scheduleProblem(before, changes);
  if (problem !== undefined) throw new RequestError('invalid_query', problem);
}

async function commitChange(
  commit: Commit,
  change: (...step: Parameters<Parameters<Commit>[0]>) => Promise<object>,
): Promise<WriteAnswer> {
  return await commit(async (...step) => ({ status: 200, body: await change(...step) }));
}

const PARAMETER: ReadField<QueryParameter> = (value, name) => {
  if (value === undefined) throw bad(name, value, 'a parameter');
  const fields = readFields(
    value,
    {
      key: text(1, PARAMETER_NAME_LENGTH_MAX),
      type: oneOf(QUERY_PARAMETER_TYPES),
      value: parameterValue,
      enumOptions: list(text(0, PARAMETER_VALUE_LENGTH_MAX), 1000),
    },
    name,
  );
  const { type = 'text', enumOptions } = fields;
  return {
    key: required(fields.key, `${name}.key`),
    type,
    ...(fields.value !== undefined && { value: fields.value }),
    ...(enumOptions !== undefined && { enumOptions }),
  };
};

/** Clients send numbers as numbers. */
function parameterValue(value: unknown, name: string): string {
  return text(0, PARAMETER_VALUE_LENGTH_MAX)(isNumber(value) ? String(value) : value, name);
}

const SCHEDULE: ReadField<string> = (value, name) => {
  const expression = text(1, 200)(value, name);
  try {
    checkCron(expression);
    return expression;
  } catch (error) {
    if (error instanceof CronError) throw new RequestError('invalid_body', `${name}: ${error.message}`);
    throw error;
  }
};

/** Clients send '' for no text. */
function orNone(lengthMax: number): ReadField<string | undefined> {
  return nullable((value, name) => text(0, lengthMax)(value, name) || undefined) as ReadField<string | undefined>;
}

const PARAMETERS = list(PARAMETER, PARAMETERS_MAX);

/** Where only values are given, each parameter gets the type that its value looks like. */
const listOrValues: ReadField<readonly QueryParameter[]> = (value, name) => {
  if (!isObject(value)) return PARAMETERS(value, name);
  return Object.entries(PARAMETER_VALUES(value, name)).map(([key, text]) => ({
    key,
    type: NUMBER_VALUE.test(text) ? 'number' : DATETIME_VALUE.test(text) ? 'datetime' : 'text',
    value: text,
  }));
};

const NUMBER_VALUE = /^-?[0-9]+(?:\.[0-9]+)?$/;
const DATETIME_VALUE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$)/;

/** An object of names and texts: all of them, instead of those before. An empty text, or null, is none. */
const DESCRIPTIONS: ReadField<ColumnDescriptions> = (value, name) => {
  if (!isObject(value)) throw bad(name, value, 'an object of column names and texts');
  const read = orNone(DESCRIPTION_LENGTH_MAX);
  const texts = Object.entries(value).map(
    ([column, about]) => [column, read(about, `${name}.${column}`) ?? ''] as const,
  );
  const descriptions = Object.fromEntries(texts.filter(([, about]) => about !== ''));
  const problem = descriptionsProblem(descriptions);
  if (problem !== undefined) throw new RequestError('invalid_body', `${name}: ${problem}`);
  return descriptions;
};

const DEFINITION = {
  name: orNone(QUERY_NAME_LENGTH_MAX),
  description: orNone(QUERY_DESCRIPTION_LENGTH_MAX),
  tags: orElse(list(text(1, TAG_LENGTH_MAX), TAGS_MAX), []),
  column_descriptions: orElse(DESCRIPTIONS, {}),
  query_sql: orNone(SQL_LENGTH_MAX),
  parameters: orElse(PARAMETERS, []),
  /** The hosted API's name for the field. Its TypeScript client sends names and values, without types. */
  query_parameters: orElse(listOrValues, []),
  schedule: nullable(SCHEDULE),
  is_private: boolean,
  is_archived: boolean,
};

function readDefinition(body: unknown): QueryChanges {
  return definitionOf(readFields(body, DEFINITION));
}

type Definition = ReturnType<typeof readFields<typeof DEFINITION>>;

function definitionOf(fields: Definition): QueryChanges {
  const { name, description, tags, column_descriptions, schedule, is_private, is_archived } = fields;
  const parameters = fields.parameters ?? fields.query_parameters;
  const keys = parameters?.map(({ key }) => key) ?? [];
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new RequestError('invalid_body', `parameters: "${twice}" is there twice`);
  return {
    ...('name' in fields && { name }),
    ...('description' in fields && { description }),
    ...(tags !== undefined && { tags: [...new Set(tags)] }),
    ...(column_descriptions !== undefined && { columnDescriptions: column_descriptions }),
    ...('query_sql' in fields && { sql: fields.query_sql }),
    ...(parameters !== undefined && { parameters }),
    ...('schedule' in fields && { schedule }),
    ...(is_private !== undefined && { visibility: is_private ? ('private' as const) : ('public' as const) }),
    ...(is_archived !== undefined && { isArchived: is_archived }),
  };
}

function withoutUndefined(changes: QueryChanges): Partial<QueryDefinition> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function newId(reservedFrom: number): ReadField<number> {
  return (value, name) => {
    const id = integer(1, Number.MAX_SAFE_INTEGER)(value, name);
    if (id < reservedFrom) return id;
    throw bad(name, value, `an id below ${reservedFrom}: those from there on are reserved for the curated datasets`);
  };
}
