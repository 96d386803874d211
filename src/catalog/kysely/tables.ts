/**
 * The catalog's tables as Kysely sees them, and how their rows become values of the domain. The names and types are the
 * same in every SQL database; how the tables are made is the business of each (sqlite/migrations.ts).
 */
import type { Generated } from 'kysely';
import type { Execution, ExecutionError, ExecutionState } from '../../domain/execution.ts';
import type { Owner } from '../../domain/principal.ts';
import type { Query } from '../../domain/query.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import type { Scope } from '../../domain/scope.ts';
import type { WebhookEvent } from '../../domain/webhook.ts';

export interface CatalogTables {
  users: { name: string; created_at: number; removed_at: number | null };
  teams: { name: string; created_at: number };
  team_members: { user_name: string; team_name: string };
  api_keys: KeyRow;
  key_uses: { key_id: string; last_used_at: number };
  queries: QueryRow;
  query_ids: { id: number; last: number };
  removed_queries: { id: number };
  executions: ExecutionRow;
  execution_parameters: {
    execution_id: string;
    name: string;
    value: string;
    query_id: number;
    ordered_at: number;
  };
  result_sets: {
    execution_id: string;
    query_id: number;
    ordered_at: number;
    expires_at: number;
    manifest: string;
  };
  run_queue: RunRow;
  leases: LeaseRow;
  lease_tokens: { id: number; last: number };
  ticks: { schedule: string; tick: number };
  replicas: { id: string; name: string; version: string; knows: number; since: number; last_seen: number };
  /** One row. Programs that know a catalog of this version, or of a later one, may use it. */
  compatibility: { id: number; usable_from: number };
  usage: UsageRow;
  idempotency_keys: {
    key_id: string;
    name: string;
    fingerprint: string;
    status: number;
    body: string;
    answered_at: number;
  };
  webhooks: WebhookRow;
  webhook_deliveries: DeliveryRow;
  probes: { id: number; count: number };
  /** One row. `clock` is JSON of a ClockRecord. */
  installation: { id: number; identity: string | null; clock: string | null };
}

export interface LeaseRow {
  resource: string;
  holder: string;
  token: number;
  expires_at: number;
  /** JSON of a LeaseProgress. */
  progress: string | null;
}

/** With the token of the holder that said it: an older release that takes the lease over leaves it as it is. */
export interface LeaseProgress {
  readonly token: number;
  readonly progress: RunProgress;
}

export interface RunRow {
  execution_id: string;
  ordered_at: number;
  key_id: string | null;
  identity: string | null;
  query_sql: string;
  /** JSON of ParameterValue[]. */
  parameter_values: string;
  claims: number;
}

export interface UsageRow {
  day: string;
  key_id: string;
  /** 0: none. */
  query_id: number;
  requests: number;
  datapoints: number;
  bytes: number;
}

/** Exactly one of the two is set. */
export interface OwnerColumns {
  user_name: string | null;
  team_name: string | null;
}

export interface KeyRow extends OwnerColumns {
  id: string;
  hash: string;
  name: string | null;
  created_at: number;
  revoked_at: number | null;
  scope: Scope;
  expires_at: number | null;
  /** The query of a share. */
  shared_query_id: number | null;
  /** JSON of a Share; null of a key that is none. */
  share: string | null;
}

export interface QueryRow extends OwnerColumns {
  id: number;
  name: string | null;
  visibility: Query['visibility'];
  created_at: number;
  description: string | null;
  /** A JSON array of texts. */
  tags: string;
  /** JSON of ColumnDescriptions. */
  column_descriptions: string | null;
  query_sql: string | null;
  /** A JSON array of QueryParameter. */
  parameters: string;
  schedule: string | null;
  /** 0 or 1. */
  is_archived: number;
  version: number;
  updated_at: number;
  /** Null where only an earlier release has changed it: since updated_at. */
  scheduled_at: number | null;
}

export interface ExecutionRow {
  id: string;
  query_id: number;
  parameters: string;
  state: ExecutionState;
  submitted_at: number;
  /** submitted_at, unless clocks disagreed. */
  ordered_at: number;
  started_at: number | null;
  ended_at: number | null;
  cancelled_at: number | null;
  expires_at: number | null;
  error: string | null;
}

export interface WebhookRow extends OwnerColumns {
  id: string;
  url: string;
  /** Null: all of its owner's. */
  query_id: number | null;
  /** A JSON array of WebhookEvent. */
  events: string;
  secret: string;
  created_at: number;
  disabled_at: number | null;
  disabled_reason: string | null;
}

export interface DeliveryRow {
  webhook_id: string;
  event_id: string;
  type: WebhookEvent;
  /** JSON. */
  payload: string;
  occurred_at: number;
  created_at: number;
  /** Null: it has ended. */
  next_at: number | null;
  attempts: Generated<number>;
  attempted_at: Generated<number | null>;
  status: Generated<number | null>;
  error: Generated<string | null>;
  /** 0 or 1. */
  delivered: Generated<number>;
  ended_at: Generated<number | null>;
}

export function ownerColumns(owner: Owner): OwnerColumns {
  return owner.kind === 'user'
    ? { user_name: owner.name, team_name: null }
    : { user_name: null, team_name: owner.name };
}

export function ownerOf(row: OwnerColumns): Owner {
  return row.user_name !== null ? { kind: 'user', name: row.user_name } : { kind: 'team', name: row.team_name ?? '' };
}

export function executionOf(row: ExecutionRow): Execution {
  return {
    id: row.id,
    queryId: row.query_id,
    parameters: JSON.parse(row.parameters) as Record<string, string>,
    state: row.state,
    submittedAt: row.submitted_at,
    ...(row.started_at !== null && { startedAt: row.started_at }),
    ...(row.ended_at !== null && { endedAt: row.ended_at }),
    ...(row.cancelled_at !== null && { cancelledAt: row.cancelled_at }),
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
    ...(row.error !== null && { error: JSON.parse(row.error) as ExecutionError }),
  };
}
