/**
 * The numbered steps that make a catalog's tables in PostgreSQL. A step is never changed after its release. The tables are those of
 * sqlite/migrations.ts, where their columns are explained; a test holds that both have the same. Texts are compared byte by byte, as SQLite
 * does (`collate "C"`).
 */
import type { Migration } from '../migration.ts';

/** The tables that answers depend on: access, runs and results. */
const ANSWERED_FROM = ['users', 'teams', 'team_members', 'api_keys', 'queries', 'executions', 'result_sets'];

/** Escapes of NUL and of half a pair of surrogates, and what is read in their place. */
const REFUSED = String.raw`'\\u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', '\\ufffd'`;

export const MIGRATIONS: readonly Migration[] = [
  {
    number: 1,
    name: 'all that catalogs had when this was written',
    script: `
      create domain bytewise as text collate "C";

      -- Functions that SQLite has, as far as the queries of all catalogs use them (kysely/browsing.ts).
      create function instr(haystack text, needle text) returns bigint language sql immutable strict
        as $$ select strpos(haystack, needle)::bigint $$;
      create function json_extract(document text, path text) returns numeric language sql immutable strict
        as $$ select (document::jsonb #>> string_to_array(substr(path, 3), '.'))::numeric $$;
      create function json_each(document text) returns table (value text) language sql immutable strict
        as $$ select jsonb_array_elements_text(document::jsonb) $$;

      create table users (name bytewise primary key, created_at bigint not null, removed_at bigint);

      create table teams (name bytewise primary key, created_at bigint not null);

      create table team_members (
        user_name bytewise not null references users (name),
        team_name bytewise not null references teams (name),
        primary key (user_name, team_name)
      );

      create table api_keys (
        id bytewise primary key,
        hash bytewise not null unique,
        user_name bytewise references users (name),
        team_name bytewise references teams (name),
        name bytewise,
        created_at bigint not null,
        revoked_at bigint,
        scope bytewise not null default 'read' check (scope in ('read', 'write', 'admin')),
        expires_at bigint,
        check ((user_name is null) <> (team_name is null))
      );
      create index api_keys_of_user on api_keys (user_name);

      create table key_uses (key_id bytewise primary key references api_keys (id), last_used_at bigint not null);

      create table queries (
        id bigint primary key,
        name bytewise,
        user_name bytewise references users (name),
        team_name bytewise references teams (name),
        visibility bytewise not null check (visibility in ('public', 'private')),
        created_at bigint not null,
        description bytewise,
        tags bytewise not null default '[]',
        query_sql bytewise,
        parameters bytewise not null default '[]',
        schedule bytewise,
        is_archived bigint not null default 0 check (is_archived in (0, 1)),
        version bigint not null default 1,
        updated_at bigint not null default 0,
        check ((user_name is null) <> (team_name is null))
      );
      create table query_ids (id bigint primary key check (id = 1), last bigint not null);
      insert into query_ids (id, last) values (1, 0);
      create table removed_queries (id bigint primary key);

      create table executions (
        id bytewise primary key,
        query_id bigint not null references queries (id),
        parameters bytewise not null,
        state bytewise not null,
        submitted_at bigint not null,
        started_at bigint,
        ended_at bigint,
        cancelled_at bigint,
        expires_at bigint,
        error bytewise,
        ordered_at bigint not null
      );
      create index executions_newest on executions (ordered_at, id);
      create index executions_of_query on executions (query_id, ordered_at, id);
      create index executions_in_state on executions (state, ordered_at, id);

      create table execution_parameters (
        execution_id bytewise not null references executions (id),
        name bytewise not null,
        value bytewise not null,
        query_id bigint not null,
        ordered_at bigint not null,
        primary key (execution_id, name)
      );
      -- The value is not in the index: index entries have a maximum size, values do not. So each run with the name is checked.
      create index execution_parameters_newest on execution_parameters (query_id, name, ordered_at, execution_id);

      create table result_sets (
        execution_id bytewise primary key references executions (id),
        query_id bigint not null,
        ordered_at bigint not null,
        expires_at bigint not null,
        manifest bytewise not null
      );
      create index result_sets_newest on result_sets (query_id, ordered_at, execution_id, expires_at);
      create index result_sets_expiring on result_sets (expires_at, execution_id);

      create table run_queue (
        execution_id bytewise primary key references executions (id),
        ordered_at bigint not null,
        key_id bytewise,
        identity bytewise,
        query_sql bytewise not null,
        parameter_values bytewise not null,
        claims bigint not null default 0
      );
      create index run_queue_order on run_queue (ordered_at, execution_id);
      create index run_queue_identity on run_queue (identity);
      create index run_queue_key on run_queue (key_id);

      create table leases (
        resource bytewise primary key,
        holder bytewise not null,
        token bigint not null,
        expires_at bigint not null
      );
      create table lease_tokens (id bigint primary key check (id = 1), last bigint not null);
      insert into lease_tokens (id, last) values (1, 0);

      create table ticks (schedule bytewise primary key, tick bigint not null);

      create table usage (
        day bytewise not null,
        key_id bytewise not null,
        query_id bigint not null,
        requests bigint not null,
        datapoints bigint not null,
        bytes bigint not null,
        primary key (day, key_id, query_id)
      );
      create index usage_of_key on usage (key_id, day);

      create table probes (id bigint primary key check (id = 1), count bigint not null);
      insert into probes (id, count) values (1, 0);

      create table installation (id bigint primary key check (id = 1), identity bytewise, clock bytewise);

      create table idempotency_keys (
        key_id bytewise not null,
        name bytewise not null,
        fingerprint bytewise not null,
        status bigint not null,
        body bytewise not null,
        answered_at bigint not null,
        primary key (key_id, name)
      );
      create index idempotency_keys_oldest on idempotency_keys (answered_at);

      -- Whoever ends a run takes it out of the queue: no writer can forget to.
      create function end_queued_run() returns trigger language plpgsql set search_path from current as $$
        begin
          delete from run_queue where execution_id = new.id;
          return null;
        end $$;
      create trigger executions_ended after update of state on executions for each row
        when (new.state not in ('PENDING', 'EXECUTING')) execute function end_queued_run();

      -- Notifies every process that listens, once the transaction commits. Each schema has its own channel (change-feed.ts).
      create function tell_change() returns trigger language plpgsql as $$
        begin
          perform pg_notify('qrs_changes_' || md5(tg_table_schema), '');
          return null;
        end $$;
      ${ANSWERED_FROM.map(
        (table) => `create trigger ${table}_changed after insert or update or delete on ${table}
        for each row execute function tell_change();`,
      ).join('\n      ')}
    `,
  },
  {
    number: 2,
    name: 'descriptions of columns',
    script: 'alter table queries add column column_descriptions bytewise;',
  },
  {
    number: 3,
    name: 'the clock of leases, and JSON of texts that jsonb refuses',
    script: `
      -- When the statement came, in milliseconds: whoever waits for a lock decides by the time before.
      create function qrs_now() returns bigint language sql stable
        as $$ select floor(extract(epoch from statement_timestamp()) * 1000)::bigint $$;

      -- A name of a column or a tag may hold NUL, or half of a pair of surrogates. As JSON such a text is escaped, and jsonb takes neither.
      create or replace function json_extract(document text, path text) returns numeric language sql immutable strict
        as $$ select (regexp_replace(document, ${REFUSED}, 'g')::jsonb #>> string_to_array(substr(path, 3), '.'))::numeric $$;
      create or replace function json_each(document text) returns table (value text) language sql immutable strict
        as $$ select jsonb_array_elements_text(regexp_replace(document, ${REFUSED}, 'g')::jsonb) $$;
    `,
  },
  {
    number: 4,
    name: 'replicas, and which programs may use the catalog',
    script: `
      -- A row for each replica that runs, written again and again; a clean stop takes it away.
      create table replicas (
        id bytewise primary key,
        name bytewise not null,
        version bytewise not null,
        -- The latest version of a catalog that it knows.
        knows bigint not null,
        since bigint not null,
        last_seen bigint not null
      );

      -- Programs that know a catalog of this version, or of a later one, may use it.
      create table compatibility (id bigint primary key check (id = 1), usable_from bigint not null);
      insert into compatibility (id, usable_from) values (1, 4);
    `,
  },
  {
    number: 5,
    name: 'progress of runs',
    script: `
      -- How far the run is that is carried out under the lease, with the token of whoever said so. JSON.
      alter table leases add column progress bytewise;
    `,
    olderGoOn: true,
  },
  {
    number: 6,
    name: 'since when a query has its schedule',
    script: `
      -- Null: since updated_at.
      alter table queries add column scheduled_at bigint;
    `,
    olderGoOn: true,
  },
  {
    number: 7,
    name: 'shares',
    script: `
      -- A share is a key whose token is another, so that older programs never take it for one. The query is apart to be looked for; JSON.
      alter table api_keys add column shared_query_id bigint;
      alter table api_keys add column share bytewise;
      create index shares_of_query on api_keys (shared_query_id) where shared_query_id is not null;
    `,
    olderGoOn: true,
  },
  {
    number: 8,
    name: 'webhooks',
    script: `
      create table webhooks (
        id bytewise primary key,
        user_name bytewise references users (name),
        team_name bytewise references teams (name),
        url bytewise not null,
        -- Null: all of its owner's.
        query_id bigint references queries (id) on delete cascade,
        -- A JSON array of WebhookEvent.
        events bytewise not null,
        -- In plain text, since it signs.
        secret bytewise not null,
        created_at bigint not null,
        disabled_at bigint,
        disabled_reason bytewise,
        check ((user_name is null) <> (team_name is null))
      );
      create index webhooks_of_query on webhooks (query_id);

      -- What webhooks are told, written in the commit that brings it about. It does not refer to them: a commit would wait for, or fail
      -- by, one that is being removed.
      create table webhook_deliveries (
        webhook_id bytewise not null,
        -- The same in all attempts.
        event_id bytewise not null,
        type bytewise not null,
        payload bytewise not null,
        occurred_at bigint not null,
        created_at bigint not null,
        -- When the next attempt is due; null: it has ended.
        next_at bigint,
        attempts bigint not null default 0,
        attempted_at bigint,
        -- Of the last attempt.
        status bigint,
        error bytewise,
        delivered bigint not null default 0 check (delivered in (0, 1)),
        ended_at bigint,
        primary key (webhook_id, event_id)
      );
      create index webhook_deliveries_due on webhook_deliveries (next_at) where next_at is not null;
      create index webhook_deliveries_newest on webhook_deliveries (webhook_id, created_at, event_id);
      create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
    `,
    olderGoOn: true,
  },
];

/** The version of a catalog after all of them. */
export const LATEST = MIGRATIONS.at(-1)?.number ?? 0;
