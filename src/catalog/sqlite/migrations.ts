/**
 * The numbered steps that make a catalog's tables. A step is never changed after its release; the next one mends what was wrong. Instants
 * are milliseconds since 1970. A value that is only read whole is stored as JSON.
 */
import type { Migration } from '../migration.ts';
import { FIRST_MIGRATIONS } from './first-migrations.ts';

export const MIGRATIONS: readonly Migration[] = [
  ...FIRST_MIGRATIONS,
  {
    number: 6,
    name: 'scopes of keys, what queries are',
    script: `
      alter table api_keys add column scope text not null default 'read' check (scope in ('read', 'write', 'admin'));
      alter table api_keys add column expires_at integer;

      -- Apart from api_keys, since no answer depends on it.
      create table key_uses (
        key_id text primary key references api_keys (id),
        last_used_at integer not null
      ) strict, without rowid;

      -- A user who was removed stays known to the keys and the usage of before.
      alter table users add column removed_at integer;

      alter table queries add column description text;
      -- A JSON array of texts.
      alter table queries add column tags text not null default '[]';
      alter table queries add column query_sql text;
      -- A JSON array of QueryParameter.
      alter table queries add column parameters text not null default '[]';
      alter table queries add column schedule text;
      alter table queries add column is_archived integer not null default 0 check (is_archived in (0, 1));
      alter table queries add column version integer not null default 1;
      alter table queries add column updated_at integer not null default 0;
      update queries set updated_at = created_at;

      -- One row: the last id that was chosen for a query, and not by whoever added it.
      create table query_ids (
        id integer primary key check (id = 1),
        last integer not null
      ) strict;
      insert into query_ids (id, last) values (1, 0);
      -- Their ids are chosen for no other query: addresses of the old one may still be about.
      create table removed_queries (id integer primary key) strict;
    `,
  },
  {
    number: 7,
    name: 'the queue of runs',
    script: `
      -- A row for every run that the service's engine is to run or runs: the SQL and the values as of when it was asked for. Who runs
      -- it holds its write lease.
      create table run_queue (
        execution_id text primary key references executions (id),
        -- Copied from the execution, where it never changes.
        ordered_at integer not null,
        -- Who asked; null: the service itself, or a command.
        key_id text,
        -- The same for runs that are the same; null: like no other.
        identity text,
        query_sql text not null,
        -- A JSON array of ParameterValue.
        parameter_values text not null,
        -- How often it has been claimed.
        claims integer not null default 0
      ) strict, without rowid;
      create index run_queue_order on run_queue (ordered_at, execution_id);
      create index run_queue_identity on run_queue (identity);
      create index run_queue_key on run_queue (key_id);

      -- Whoever ends a run takes it out of the queue: no writer can forget to.
      create trigger executions_ended after update of state on executions when new.state not in ('PENDING', 'EXECUTING')
      begin delete from run_queue where execution_id = new.id; end;
    `,
  },
  {
    number: 8,
    name: 'idempotency keys',
    script: `
      -- What an API key was answered under an idempotency key of its client's choice. JSON bodies.
      create table idempotency_keys (
        key_id text not null,
        name text not null,
        fingerprint text not null,
        status integer not null,
        body text not null,
        answered_at integer not null,
        primary key (key_id, name)
      ) strict, without rowid;
      create index idempotency_keys_oldest on idempotency_keys (answered_at);
    `,
  },
  {
    number: 9,
    name: 'datasets are refreshed by the queue of runs',
    script: `
      -- Refreshes had leases and ticks of their own. The tick of one that was under way is due again, the others are kept under the name
      -- of the query.
      insert or ignore into ticks (schedule, tick)
        select 'query:' || queries.id, ticks.tick
        from ticks join queries on ticks.schedule = 'refresh:' || queries.name
        where queries.id >= 990000001 and queries.team_name = 'curated-datasets'
          and not exists (select 1 from leases where leases.resource = ticks.schedule);
      delete from ticks where schedule like 'refresh:%';

      update executions
        set state = 'FAILED', ended_at = max(coalesce(started_at, submitted_at), unixepoch() * 1000),
          error = '{"type":"interrupted","message":"the service was upgraded while this refresh ran"}'
        where state in ('PENDING', 'EXECUTING')
          and id in (select substr(resource, -26) from leases where resource like 'refreshing:%');
      delete from leases where resource like 'refresh:%' or resource like 'refreshing:%';
    `,
  },
  {
    number: 10,
    name: 'descriptions of columns',
    script: `
      -- JSON: names and texts.
      alter table queries add column column_descriptions text;
    `,
  },
  {
    number: 11,
    name: 'replicas, and which programs may use the catalog',
    script: `
      -- A row for each replica that runs, written again and again; a clean stop takes it away.
      create table replicas (
        id text primary key,
        name text not null,
        version text not null,
        -- The latest version of a catalog that it knows.
        knows integer not null,
        since integer not null,
        last_seen integer not null
      ) strict, without rowid;

      -- Programs that know a catalog of this version, or of a later one, may use it.
      create table compatibility (id integer primary key check (id = 1), usable_from integer not null) strict;
      insert into compatibility (id, usable_from) values (1, 11);
    `,
  },
  {
    number: 12,
    name: 'progress of runs',
    script: `
      -- How far the run is that is carried out under the lease, with the token of whoever said so. JSON.
      alter table leases add column progress text;
    `,
    olderGoOn: true,
  },
  {
    number: 13,
    name: 'since when a query has its schedule',
    script: `
      -- Null: since updated_at.
      alter table queries add column scheduled_at integer;
    `,
    olderGoOn: true,
  },
  {
    number: 14,
    name: 'shares',
    script: `
      -- A share is a key whose token is another, so that older programs never take it for one. The query is apart to be looked for; JSON.
      alter table api_keys add column shared_query_id integer;
      alter table api_keys add column share text;
      create index shares_of_query on api_keys (shared_query_id) where shared_query_id is not null;
    `,
    olderGoOn: true,
  },
  {
    number: 15,
    name: 'webhooks',
    script: `
      create table webhooks (
        id text primary key,
        user_name text references users (name),
        team_name text references teams (name),
        url text not null,
        -- Null: all of its owner's.
        query_id integer references queries (id) on delete cascade,
        -- A JSON array of WebhookEvent.
        events text not null,
        -- In plain text, since it signs.
        secret text not null,
        created_at integer not null,
        disabled_at integer,
        disabled_reason text,
        check ((user_name is null) <> (team_name is null))
      ) strict, without rowid;
      create index webhooks_of_query on webhooks (query_id);

      -- What webhooks are told, written in the commit that brings it about. It does not refer to them: a commit would wait for, or fail
      -- by, one that is being removed.
      create table webhook_deliveries (
        webhook_id text not null,
        -- The same in all attempts.
        event_id text not null,
        type text not null,
        payload text not null,
        occurred_at integer not null,
        created_at integer not null,
        -- When the next attempt is due; null: it has ended.
        next_at integer,
        attempts integer not null default 0,
        attempted_at integer,
        -- Of the last attempt.
        status integer,
        error text,
        delivered integer not null default 0 check (delivered in (0, 1)),
        ended_at integer,
        primary key (webhook_id, event_id)
      ) strict, without rowid;
      create index webhook_deliveries_due on webhook_deliveries (next_at) where next_at is not null;
      create index webhook_deliveries_newest on webhook_deliveries (webhook_id, created_at, event_id);
      create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
    `,
    olderGoOn: true,
  },
];

/** The version of a catalog after all of them. */
export const LATEST = MIGRATIONS.at(-1)?.number ?? 0;
