/**
 * The routes that list and describe queries and their runs (contract §8). They show only what the key may read; the rest is not even
 * counted in totals. They cost no datapoints.
 */
import type { FastifyInstance } from 'fastify';
import type { Catalog } from '../../catalog/catalog.ts';
import { descriptionOf } from '../../domain/column-descriptions.ts';
import { formatColumnType } from '../../domain/column-type.ts';
import { EXECUTION_STATES, type ExecutionState, formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Clock } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import { parameterOf, type QueryParameters } from '../../results/request/query-string.ts';
import { addressOf } from '../client-url.ts';
import { jsonRoute } from '../json-route.ts';
import { readableQuery } from '../writing/authorize.ts';
import { booleanOf, instantOf, invalid, listBody, sliceOf } from './list-parameters.ts';
import { queryView } from './query-view.ts';
import { latestView, runView } from './run-view.ts';

export interface BrowsingDeps {
  readonly catalog: Pick<Catalog, 'browsing' | 'queries' | 'executions'>;
  readonly clock: Clock;
  /** What runs the SQL of queries: `duckdb` or `trino`. */
  readonly engine: string;
}

/** What a list, or a query, is asked for. */
export interface Asked {
  /** Of the query, where one is named. */
  readonly id: string;
  readonly stats: Pick<RequestStats, 'queryId'>;
  readonly principal: Principal;
  readonly parameters: QueryParameters;
  /** The address without parameters. */
  readonly address: string;
}

const TEXT_MAX = 500;

/** @param publicUrl scheme and host of `next_uri`; undefined: as the client addressed the service */
export function browsingRoutes(
  server: FastifyInstance,
  prefix: string,
  deps: BrowsingDeps,
  publicUrl: string | undefined,
): void {
  const serve = (path: string, bodyOf: (asked: Asked, deps: BrowsingDeps) => Promise<object>) =>
    jsonRoute(server, prefix + path, async (request, principal, parameters) => {
      const address = addressOf(request, publicUrl);
      const { id = '' } = request.params as { readonly id?: string };
      return await bodyOf({ id, stats: request.stats, principal, parameters, address }, deps);
    });
  serve('/queries', queriesBody);
  serve('/query/:id', queryBody);
  serve('/query/:id/executions', executionsBody);
}

/** The queries that the key may read, newest first or best first. @throws RequestError invalid_parameter */
export async function queriesBody(
  { principal, parameters, address }: Asked,
  { catalog, clock, engine }: BrowsingDeps,
): Promise<object> {
  const now = clock();
  const slice = sliceOf(parameters);
  const [text, owner, tag] = ['search', 'owner', 'tag'].map((name) => textOf(parameters, name));
  const hasResults = booleanOf(parameters, 'has_results');
  const found = await catalog.browsing.searchQueries({
    ...slice,
    reader: principal,
    now,
    ...(text !== undefined && { text }),
    ...(owner !== undefined && { owner }),
    ...(tag !== undefined && { tag }),
    ...(hasResults !== undefined && { hasResults }),
  });
  const items = found.items.map(({ query, latest }) => {
    const { query_sql: _, ...view } = queryView(query, principal, engine);
    return { ...view, ...(latest !== undefined && { latest_execution: latestView(latest, now) }) };
  });
  return listBody('queries', { ...found, items }, slice, parameters, address);
}

/** A query, its latest run and that one's columns. @throws RequestError invalid_query_id · query_not_found */
export async function queryBody(asked: Omit<Asked, 'parameters' | 'address'>, deps: BrowsingDeps) {
  const { catalog, clock, engine } = deps;
  const { principal } = asked;
  const query = await queryOf(asked, catalog);
  const now = clock();
  const { columnDescriptions } = query;
  const view = {
    ...queryView(query, principal, engine),
    ...(columnDescriptions !== undefined && { column_descriptions: columnDescriptions }),
  };
  const latest = await catalog.browsing.findLatestRun(query.id, now);
  if (latest === undefined) return view;
  const hasResult = STATES[stateAt(latest.execution, now)].hasResult;
  const resultSet = hasResult ? await catalog.executions.findResultSet(latest.execution.id) : undefined;
  return {
    ...view,
    latest_execution: latestView(latest, now),
    ...(resultSet !== undefined && {
      columns: resultSet.columns.map(({ name, type }) => {
        const description = descriptionOf(columnDescriptions, name);
        return { name, type: formatColumnType(type), ...(description !== undefined && { description }) };
      }),
    }),
  };
}

async function executionsBody(asked: Asked, { catalog, clock }: BrowsingDeps): Promise<object> {
  const { parameters, address } = asked;
  const query = await queryOf(asked, catalog);
  const now = clock();
  const slice = sliceOf(parameters);
  const [from, to] = [instantOf(parameters, 'from'), instantOf(parameters, 'to')];
  const state = stateOf(parameters);
  const found = await catalog.browsing.listRuns({
    ...slice,
    queryId: query.id,
    now,
    ...(state !== undefined && { state }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  });
  const items = found.items.map((run) => runView(run, now));
  return listBody('executions', { ...found, items }, slice, parameters, address);
}

async function queryOf(
  { id, stats, principal }: Omit<Asked, 'parameters' | 'address'>,
  catalog: BrowsingDeps['catalog'],
) {
  const query = await readableQuery(catalog, principal, id);
  stats.queryId = query.id;
  return query;
}

function textOf(parameters: QueryParameters, name: string): string | undefined {
  const text = parameterOf(parameters, name);
  if (text !== undefined && text.length > TEXT_MAX) throw invalid(name, text, `at most ${TEXT_MAX} characters`);
  return text;
}

function stateOf(parameters: QueryParameters): ExecutionState | undefined {
  const text = parameterOf(parameters, 'state');
  if (text === undefined) return undefined;
  const state = EXECUTION_STATES.find((name) => [name, formatState(name)].includes(text.toUpperCase()));
  if (state === undefined) throw invalid('state', text, `one of ${EXECUTION_STATES.map(formatState).join(', ')}`);
  return state;
}
