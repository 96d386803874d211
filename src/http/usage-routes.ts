/**
 * `GET /v1/usage`: what the caller's key has asked for, by day and by query, and what all keys of its owner have. Counts
 * reach the catalog every few seconds, so the newest are missing.
 */
import type { FastifyInstance } from 'fastify';
import type { Usage } from '../catalog/catalog.ts';
import { type Clock, DAY_MILLIS, dayOf, startOfDay } from '../domain/instant.ts';
import type { Principal } from '../domain/principal.ts';
import { shortened } from '../domain/shortened.ts';
import type { UsageCounts } from '../domain/usage.ts';
import { RequestError } from '../errors/errors.ts';
import { parameterOf, type QueryParameters } from '../results/request/query-string.ts';
import { jsonRoute } from './json-route.ts';

export interface UsageRoutesDeps {
  readonly usage: Usage;
  readonly clock: Clock;
}

const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

interface Days {
  readonly from: string;
  readonly to: string;
}

export function usageRoutes(server: FastifyInstance, prefix: string, deps: UsageRoutesDeps): void {
  jsonRoute(server, `${prefix}/usage`, async (_request, principal, parameters) => {
    return await usageOf(principal, daysOf(parameters, deps.clock()), deps.usage);
  });
}

async function usageOf({ keyId, owner }: Principal, days: Days, usage: Usage): Promise<object> {
  const none = { requests: 0, datapoints: 0, bytes: 0 };
  const ofKey = { ...days, keyId };
  const [key = none] = await usage.sum(ofKey, []);
  const [all = none] = await usage.sum({ ...days, owner }, []);
  const byDay = await usage.sum(ofKey, ['day']);
  const byQuery = await usage.sum(ofKey, ['query']);
  return {
    ...days,
    key: { id: keyId, ...counts(key) },
    owner: { [owner.kind]: owner.name, ...counts(all) },
    days: byDay.map(({ day, ...sum }) => ({ day, ...counts(sum) })),
    queries: byQuery.map(({ queryId, ...sum }) => ({ query_id: queryId, ...counts(sum) })),
  };
}

function counts({ requests, datapoints, bytes }: UsageCounts): UsageCounts {
  return { requests, datapoints, bytes };
}

/** The days asked for: by default today and the 29 before. */
function daysOf(parameters: QueryParameters, now: number): Days {
  const to = dayParameter(parameters, 'to') ?? startOfToday(now);
  const from = dayParameter(parameters, 'from') ?? to - (DAYS_DEFAULT - 1) * DAY_MILLIS;
  if (from > to) throw badDay('from', dayOf(from), `a day not after ${dayOf(to)}`);
  if (to - from >= DAYS_MAX * DAY_MILLIS) throw badDay('from', dayOf(from), `at most ${DAYS_MAX} days`);
  return { from: dayOf(from), to: dayOf(to) };
}

function dayParameter(parameters: QueryParameters, name: string): number | undefined {
  const value = parameterOf(parameters, name);
  if (value === undefined) return undefined;
  const start = startOfDay(value);
  if (start === undefined) throw badDay(name, value, 'a day such as 2024-03-05');
  return start;
}

function badDay(name: string, value: string, expected: string): RequestError {
  return new RequestError('invalid_parameter', `${name}: found "${shortened(value, 40)}", expected ${expected}`);
}

function startOfToday(now: number): number {
  return Math.floor(now / DAY_MILLIS) * DAY_MILLIS;
}
