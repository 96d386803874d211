/** The tables of webhooks, and of the outbox of what they are told. Belongs to a migration: never changed after its release. */
export const WEBHOOK_TABLES = `
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
`;
