/** The steps of the first releases: the tables that all others are built on. The steps after them are in migrations.ts. */
import type { Migration } from '../migration.ts';
import { COUNT_CHANGES } from './count-changes.ts';

export const FIRST_MIGRATIONS: readonly Migration[] = [
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
];
