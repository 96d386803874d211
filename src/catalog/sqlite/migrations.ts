/**
 * The numbered steps that make a catalog's tables. A step is never changed after its release; the next one mends what was wrong. Instants
 * are milliseconds since 1970. A value that is only read whole is stored as JSON.
 */
import type { Migration } from '../migration.ts';
import { COUNT_CHANGES } from './count-changes.ts';

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'principals, queries, executions, leases, ticks',
    script: `
      create table users (
        name text primary key,
        created_at integer not null
      ) strict, without rowid;

      create table teams (
        name text primary key,
        created_at integer not null
      ) strict, without rowid;

      create table team_members (
        user_name text not null references users (name),
        team_name text not null references teams (name),
        primary key (user_name, team_name)
      ) strict, without rowid;

      create table api_keys (
        id text primary key,
        hash text not null unique,
        user_name text references users (name),
        team_name text references teams (name),
        name text,
        created_at integer not null,
        revoked_at integer,
        check ((user_name is null) <> (team_name is null))
      ) strict, without rowid;

      create table queries (
        id integer primary key,
        name text,
        user_name text references users (name),
        team_name text references teams (name),
        visibility text not null check (visibility in ('public', 'private')),
        created_at integer not null,
        check ((user_name is null) <> (team_name is null))
      ) strict;

      create table executions (
        id text primary key,
        query_id integer not null references queries (id),
        -- A JSON object of texts. execution_parameters has the same, one row each, to find runs by.
        parameters text not null,
        state text not null,
        submitted_at integer not null,
        started_at integer,
        ended_at integer,
        cancelled_at integer,
        expires_at integer,
        -- JSON of an ExecutionError.
        error text
      ) strict, without rowid;

      -- The newest runs: of all, of a query, of a state.
      create index executions_newest on executions (submitted_at, id);
      create index executions_of_query on executions (query_id, submitted_at, id);
      create index executions_in_state on executions (state, submitted_at, id);

      -- query_id and submitted_at are copied from the execution (they never change): one walk down the index meets the
      -- runs of a query with a given value, newest first.
      create table execution_parameters (
        execution_id text not null references executions (id),
        name text not null,
        value text not null,
        query_id integer not null,
        submitted_at integer not null,
        primary key (execution_id, name)
      ) strict, without rowid;
      create index execution_parameters_newest
        on execution_parameters (query_id, name, value, submitted_at, execution_id);

      -- A row for every run whose result is stored, and for no other. What is copied from the execution is what such runs
      -- are looked for by: the latest of a query is found in one step however many runs failed since, and the sweep
      -- reads only what it deletes.
      create table result_sets (
        execution_id text primary key references executions (id),
        query_id integer not null,
        submitted_at integer not null,
        expires_at integer not null,
        -- JSON of a ResultSet.
        manifest text not null
      ) strict;
      create index result_sets_newest on result_sets (query_id, submitted_at, execution_id, expires_at);
      create index result_sets_expiring on result_sets (expires_at, execution_id);

      create table leases (
        resource text primary key,
        holder text not null,
        token integer not null,
        expires_at integer not null
      ) strict, without rowid;

      -- One row. Tokens outlive the leases they were given to: a resource's next lease always has a greater one.
      create table lease_tokens (
        id integer primary key check (id = 1),
        last integer not null
      ) strict;
      insert into lease_tokens (id, last) values (1, 0);

      create table ticks (
        schedule text primary key,
        tick integer not null
      ) strict, without rowid;
    `,
  },
  {
    number: 2,
    name: 'usage',
    script: `
      -- What each key asked for on each day (UTC, 2024-03-05), per query; query_id 0 stands for requests that met none. No
      -- references: what was counted stays counted.
      create table usage (
        day text not null,
        key_id text not null,
        query_id integer not null,
        requests integer not null,
        datapoints integer not null,
        bytes integer not null,
        primary key (day, key_id, query_id)
      ) strict, without rowid;
      create index usage_of_key on usage (key_id, day);
    `,
  },
  {
    number: 3,
    name: 'changes, probes',
    script: `
      -- One row: how often anything has changed that an answer may depend on. Usage, leases and ticks are none of it.
      create table changes (
        id integer primary key check (id = 1),
        count integer not null
      ) strict;
      insert into changes (id, count) values (1, 0);
      ${COUNT_CHANGES}

      -- One row, written to see whether it can be.
      create table probes (
        id integer primary key check (id = 1),
        count integer not null
      ) strict;
      insert into probes (id, count) values (1, 0);
    `,
  },
  {
    number: 4,
    name: 'installation',
    script: `
      -- One row: whose catalog this is, and JSON of what was last seen of the clock.
      create table installation (
        id integer primary key check (id = 1),
        identity text,
        clock text
      ) strict;
    `,
  },
  {
    number: 5,
    name: 'the order of runs',
    script: `
      -- What runs are ordered by: submitted_at, unless another run of the query seemed to have been submitted later than it was when
      -- this one was added. Then clocks disagreed, and this one comes after.
      alter table executions add column ordered_at integer not null default 0;
      update executions set ordered_at = submitted_at;
      drop index executions_newest;
      drop index executions_of_query;
      drop index executions_in_state;
      create index executions_newest on executions (ordered_at, id);
      create index executions_of_query on executions (query_id, ordered_at, id);
      create index executions_in_state on executions (state, ordered_at, id);
      -- The copies that their indexes are made of.
      alter table execution_parameters rename column submitted_at to ordered_at;
      alter table result_sets rename column submitted_at to ordered_at;
    `,
  },
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
];

/** The version of a catalog after all of them. */
export const LATEST = MIGRATIONS.at(-1)?.number ?? 0;
