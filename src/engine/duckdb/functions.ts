/**
 * Which of DuckDB's functions a user's SQL may call. As tables only those named here. Of all others, whatever computes a value
 * from its arguments; not what tells of the process, the instance and its settings, keeps state, or waits. A test lists the
 * functions of the DuckDB that is installed, so that a new one is looked at before users have it.
 */

export const TABLE_FUNCTIONS: ReadonlySet<string> = new Set([
  'generate_series',
  'json_each',
  'json_tree',
  'range',
  'repeat',
  'unnest',
]);

export const REFUSED_FUNCTIONS = new RegExp(
  `^(?:${[
    // Settings, variables and what the instance knows of itself.
    'current_setting|getvariable|current_query|current_query_id|current_connection_id|current_transaction_id|txid_current',
    'in_search_path|current_schemas|stats|vector_type|get_block_size|version',
    'col_description|obj_description|shobj_description|has_.*_privilege|inet_.*|map_to_pg_oid|format_pg_type|format_type',
    'pg_(?!typeof$|size_pretty$).*',
    // Whole statements in a text.
    'json_serialize_plan|json_serialize_sql|json_deserialize_sql|json_execute_serialized_sql|query|query_table',
    // State, time and the log.
    'nextval|currval|setseed|sleep_ms|write_log|parse_duckdb_log_message',
    // Files, and functions that are only made for tables or for DuckDB itself.
    'read_.*|glob|sniff_csv|parquet_.*|duckdb_.*|pragma_.*|__internal_.*|.*_scan|getenv|which_secret|checkpoint|force_checkpoint',
  ].join('|')})$`,
);
