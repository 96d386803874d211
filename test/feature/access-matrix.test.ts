/**
 * Who may do what (contract §§2, 8): every route × every scope × the owner, members and former members of the team, strangers,
 * nobody; public and private queries. What a key may not see is answered exactly like what does not exist, whoever asked
 * before.
 */
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { type HttpService, startHttpService } from './http-service.ts';

const SCOPES = ['read', 'write', 'admin'] as const;
type Scope = (typeof SCOPES)[number];

/** What a key needs on the query that a route names. */
type Need = 'read' | 'write' | 'administer' | 'nothing';

interface Route {
  readonly method: string;
  /** `{query}` and `{run}` stand for the ids that are asked about. */
  readonly path: string;
  readonly need: Need;
  readonly body?: string;
  /** Tried only on queries that the route leaves unchanged. */
  readonly only?: 'public' | 'private';
  /** The status of an allowed request, which changes nothing. */
  readonly allowed: number;
}

const BAD_CSV = 'a,b\n1\n';

const ROUTES: readonly Route[] = [
  ...[
    '/query/{query}/results',
    '/query/{query}/results/csv',
    '/execution/{run}/results',
    '/execution/{run}/results/csv',
  ].map((path) => ({ method: 'GET', path, need: 'read', allowed: 200 }) as const),
  { method: 'GET', path: '/execution/{run}/status', need: 'read', allowed: 200 },
  { method: 'GET', path: '/execution/{run}/statistics', need: 'read', allowed: 200 },
  { method: 'GET', path: '/execution/{run}/diff/{run}', need: 'read', allowed: 200 },
  { method: 'GET', path: '/query/{query}', need: 'read', allowed: 200 },
  { method: 'GET', path: '/query/{query}/diff?from=2100-01-01&to=2100-01-01', need: 'read', allowed: 200 },
  { method: 'GET', path: '/query/{query}/executions', need: 'read', allowed: 200 },
  { method: 'PATCH', path: '/query/{query}', need: 'write', body: '{}', allowed: 200 },
  { method: 'POST', path: '/query/{query}/unarchive', need: 'write', allowed: 200 },
  { method: 'POST', path: '/query/{query}/archive', need: 'write', body: '{"x":1}', allowed: 400 },
  { method: 'POST', path: '/query/{query}/private', need: 'write', only: 'private', allowed: 200 },
  { method: 'POST', path: '/query/{query}/unprivate', need: 'write', only: 'public', allowed: 200 },
  { method: 'POST', path: '/query/{query}/results', need: 'write', body: BAD_CSV, allowed: 400 },
  { method: 'POST', path: '/query/{query}/executions', need: 'write', body: '{"x":1}', allowed: 400 },
  { method: 'POST', path: '/query/{query}/execute', need: 'write', body: '{"x":1}', allowed: 400 },
  { method: 'POST', path: '/execution/{run}/start', need: 'write', allowed: 409 },
  { method: 'POST', path: '/execution/{run}/fail', need: 'write', body: '{"message":"x"}', allowed: 409 },
  { method: 'POST', path: '/execution/{run}/cancel', need: 'write', allowed: 409 },
  { method: 'PUT', path: '/execution/{run}/results', need: 'write', body: BAD_CSV, allowed: 409 },
  ...['/query/{query}/share', '/execution/{run}/share'].flatMap((path) => [
    { method: 'GET', path, need: 'write', allowed: 200 } as const,
    { method: 'POST', path, need: 'write', body: '{"x":1}', allowed: 400 } as const,
    { method: 'DELETE', path: `${path}/none`, need: 'write', allowed: 404 } as const,
  ]),
];

/** Routes that name no query. */
const OTHERS: readonly Route[] = [
  { method: 'GET', path: '/queries', need: 'nothing', allowed: 200 },
  { method: 'GET', path: '/usage', need: 'nothing', allowed: 200 },
  { method: 'GET', path: '/points/alpha/pts', need: 'nothing', allowed: 404 },
  { method: 'GET', path: '/restaking/operator-stats', need: 'nothing', allowed: 404 },
  { method: 'GET', path: '/restaking/avs-stats', need: 'nothing', allowed: 404 },
  { method: 'GET', path: '/restaking/operator-to-avs-mapping', need: 'nothing', allowed: 404 },
  { method: 'POST', path: '/query', need: 'write', body: '{"x":1}', allowed: 400 },
  { method: 'GET', path: '/webhooks', need: 'write', allowed: 200 },
  { method: 'POST', path: '/webhooks', need: 'write', body: '{"x":1}', allowed: 400 },
  { method: 'GET', path: '/webhooks/none', need: 'write', allowed: 404 },
  { method: 'GET', path: '/webhooks/none/deliveries', need: 'write', allowed: 404 },
  { method: 'DELETE', path: '/webhooks/none', need: 'write', allowed: 404 },
  ...['/users', '/teams', '/keys'].flatMap((path) => [
    { method: 'GET', path, need: 'administer', allowed: 200 } as const,
    { method: 'POST', path, need: 'administer', body: '{"x":1}', allowed: 400 } as const,
  ]),
  { method: 'DELETE', path: '/users/nobody', need: 'administer', allowed: 409 },
  { method: 'DELETE', path: '/keys/nothing', need: 'administer', allowed: 409 },
  { method: 'PUT', path: '/teams/none/members/ann', need: 'administer', allowed: 409 },
  { method: 'DELETE', path: '/teams/none/members/ann', need: 'administer', allowed: 409 },
];

/** Whoever asks here is told apart by the token in the address alone. */
const SHARED: readonly Route[] = ['/shared/token/results', '/shared/token/results/csv'].map((path) => ({
  method: 'GET',
  path,
  need: 'nothing',
  allowed: 404,
}));

const UNKNOWN_RUN = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';
const UNKNOWN_QUERY = 4_000_000;

interface Target {
  readonly query: number;
  readonly run: string;
  readonly isPrivate: boolean;
  readonly owners: readonly string[];
}

/** ann owns queries; bob is in the team crew, cy was; eve has nothing to do with any of it; crew's own key acts for the team. */
const HOLDERS = ['ann', 'bob', 'cy', 'eve', 'crew'] as const;

async function start(t: Parameters<typeof startHttpService>[0]) {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  for (const user of ['bob', 'cy', 'eve']) await qrs.get('users', 'add', user);
  await qrs.get('teams', 'add', 'crew', '--member', 'bob', '--member', 'cy');
  const keys = new Map<string, string>();
  for (const holder of HOLDERS) {
    for (const scope of SCOPES) {
      const kind = holder === 'crew' ? '--team' : '--user';
      keys.set(`${holder} ${scope}`, await qrs.get('keys', 'create', kind, holder, '--scope', scope));
    }
  }
  const targets: Target[] = [];
  for (const [query, owner, isPrivate] of [
    [1, 'ann', false],
    [2, 'ann', true],
    [3, 'crew', false],
    [4, 'crew', true],
  ] as const) {
    const words = owner === 'crew' ? ['--team', 'crew'] : ['--user', owner];
    await qrs.get('queries', 'add', '--id', String(query), ...words, ...(isPrivate ? ['--private'] : []));
    const { id } = await service.publish(query, 'n\n1\n2\n');
    targets.push({ query, run: id, isPrivate, owners: owner === 'crew' ? ['bob', 'crew'] : ['ann'] });
  }
  return { service, keys, targets };
}

/** The answer, without the parts that differ from answer to answer. */
async function ask(
  service: HttpService,
  route: Route,
  target: Pick<Target, 'query' | 'run'>,
  key: string,
  more: Readonly<Record<string, string>> = {},
) {
  const path = route.path.replace('{query}', String(target.query)).replaceAll('{run}', target.run);
  const response = await fetch(`${service.url}/v1${path}`, {
    method: route.method,
    headers: { ...(key !== '' && { 'x-service-api-key': key }), 'content-type': 'text/csv', ...more },
    ...(route.body !== undefined && { body: route.body }),
  });
  const text = (await response.text()).replaceAll(target.run, 'RUN');
  const headers = [...response.headers.keys()].filter((name) => name !== 'server-timing').sort();
  return { status: response.status, code: response.headers.get('x-error-code'), text, headers };
}

const name = (route: Route, who: string, target?: Target) =>
  `${route.method} ${route.path} by ${who}${target === undefined ? '' : `, query ${target.query}`}`;

/** What the contract says, worked out independently of the code. */
function expected(route: Route, holder: string, scope: Scope, target: Target): 'allowed' | 'hidden' | 'scope' {
  const isOwn = target.owners.includes(holder);
  if (scope === 'admin') return 'allowed';
  if (route.need === 'write' && scope === 'read') return 'scope';
  if (target.isPrivate && !isOwn) return 'hidden';
  return route.need === 'write' && !isOwn ? 'scope' : 'allowed';
}

test('every route × every scope × every asker', async (t) => {
  const { service, keys, targets } = await start(t);
  await service.commandLine.get('teams', 'remove-member', 'crew', 'cy');
  for (const target of targets) {
    const routes = ROUTES.filter(({ only }) => only === undefined || (only === 'private') === target.isPrivate);
    for (const route of routes) {
      assert.equal((await ask(service, route, target, '')).status, 401, name(route, 'nobody', target));
      for (const [who, key] of keys) {
        const [holder = '', scope] = who.split(' ');
        const says = name(route, who, target);
        const answer = await ask(service, route, target, key);
        switch (expected(route, holder, scope as Scope, target)) {
          case 'allowed':
            assert.equal(answer.status, route.allowed, `${says}: ${answer.text}`);
            break;
          case 'scope':
            assert.deepEqual([answer.status, answer.code], [403, 'scope'], says);
            if (scope === 'read') assert.equal(answer.text, '{"error":"this API key may only read"}');
            break;
          case 'hidden': {
            assert.equal(answer.status, 404, says);
            const none = await ask(service, route, { query: UNKNOWN_QUERY, run: UNKNOWN_RUN }, key);
            assert.deepEqual(answer, none, says);
            break;
          }
        }
      }
    }
  }
  for (const route of OTHERS) {
    const nothing = { query: 0, run: '' };
    assert.equal((await ask(service, route, nothing, '')).status, 401, name(route, 'nobody'));
    for (const [who, key] of keys) {
      const scope = who.split(' ')[1];
      const answer = await ask(service, route, nothing, key);
      const isAllowed = scope === 'admin' || route.need === 'nothing' || (scope === 'write' && route.need === 'write');
      if (isAllowed) assert.equal(answer.status, route.allowed, `${name(route, who)}: ${answer.text}`);
      else assert.deepEqual([answer.status, answer.code], [403, 'scope'], name(route, who));
    }
  }
  for (const route of SHARED) {
    for (const [who, key] of [...keys, ['nobody', '']] as const) {
      const { status, code } = await ask(service, route, { query: 0, run: '' }, key);
      assert.deepEqual([status, code], [route.allowed, 'share_not_found'], name(route, who));
    }
  }
  assert.deepEqual(service.faults, []);
});

test('ETags, HEAD and caches reveal nothing of what another key was answered', async (t) => {
  const { service, keys, targets } = await start(t);
  const secret = targets[3];
  assert.ok(secret !== undefined);
  const key = (who: string) => keys.get(who) ?? '';
  const reads = ROUTES.filter(({ need }) => need === 'read');
  for (const route of reads) {
    const path: string = `/v1${route.path.replace('{query}', '4').replaceAll('{run}', secret.run)}`;
    let etag = '';
    // Asked four times by all who may see it, so that it is read, then found by its address, then answered before the router.
    // cy, who is still in the team, asks too.
    for (let time = 0; time < 4; time += 1) {
      for (const who of ['bob read', 'cy read', 'crew read', 'eve admin']) {
        const response = await service.get(path, { key: key(who) });
        await response.text();
        assert.equal(response.status, 200, `${path} by ${who}`);
        etag = response.headers.get('etag') ?? etag;
      }
    }
    for (const method of ['GET', 'HEAD']) {
      for (const headers of [
        {},
        { 'if-none-match': etag },
        { 'if-none-match': '*' },
        { range: 'bytes=0-1', 'if-range': etag },
      ]) {
        const hidden = await ask(service, { ...route, method }, secret, key('eve read'), headers);
        const none = await ask(
          service,
          { ...route, method },
          { query: UNKNOWN_QUERY, run: UNKNOWN_RUN },
          key('eve read'),
          headers,
        );
        assert.equal(hidden.status, 404, `${method} ${path}`);
        assert.deepEqual(hidden, none, `${method} ${path}`);
      }
    }
  }
  await service.commandLine.get('teams', 'remove-member', 'crew', 'cy');
  for (const route of reads) {
    assert.equal((await ask(service, route, secret, key('cy read'))).status, 404, route.path);
    assert.equal((await ask(service, route, secret, key('bob read'))).status, 200, route.path);
  }
  const [shared] = targets;
  assert.ok(shared !== undefined);
  const results = reads[0];
  assert.ok(results !== undefined);
  for (let time = 0; time < 3; time += 1)
    assert.equal((await ask(service, results, shared, key('eve read'))).status, 200);
  await ask(
    service,
    { method: 'POST', path: '/query/{query}/private', need: 'write', allowed: 200 },
    shared,
    key('ann write'),
  );
  for (let time = 0; time < 3; time += 1)
    assert.equal((await ask(service, results, shared, key('eve read'))).status, 404);
});

test('the matrix covers every route of the service', async (t) => {
  const routes = new Set<string>();
  const listen = (message: unknown) => {
    (message as { readonly fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) if (url.startsWith('/v1')) routes.add(`${one} ${url.slice('/v1'.length)}`);
    });
  };
  diagnostics.subscribe('fastify.initialization', listen);
  t.after(() => diagnostics.unsubscribe('fastify.initialization', listen));
  await startHttpService(t);
  const pattern = (path: string) =>
    path
      .split('?')[0]
      ?.replaceAll(/\{\w+\}|(?<=\/(users|keys|teams|members|share|shared|webhooks)\/)[^/]+|:\w+/g, ':x');
  const asked = [...ROUTES, ...OTHERS, ...SHARED].flatMap(({ method, path }) =>
    method === 'GET' ? [`GET ${path}`, `HEAD ${path}`] : [`${method} ${path}`],
  );
  assert.deepEqual([...routes].map(pattern).toSorted(), [...new Set(asked.map(pattern))].toSorted());
});
