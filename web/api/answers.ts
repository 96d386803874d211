/** Types of the API's answers, as far as the pages use them. Fields that do not apply are absent. */

export interface RunSize {
  readonly row_count?: number;
  readonly bytes?: number;
}

export interface LatestExecution extends RunSize {
  readonly execution_id: string;
  readonly state: string;
  readonly submitted_at: string;
  readonly execution_ended_at?: string;
  readonly expires_at?: string;
}

export interface QueryAnswer {
  readonly query_id: number;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly owner: string;
  readonly is_private: boolean;
  readonly is_archived: boolean;
  readonly schedule?: string;
  readonly query_sql?: string;
  readonly latest_execution?: LatestExecution;
  readonly columns?: readonly Column[];
  readonly column_descriptions?: Readonly<Record<string, string>>;
}

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description?: string;
}

export interface RunError {
  readonly type: string;
  readonly message: string;
  readonly metadata?: { readonly line?: number; readonly column?: number };
}

export interface Run extends RunSize {
  readonly execution_id: string;
  readonly query_id: number;
  readonly state: string;
  readonly submitted_at: string;
  readonly execution_started_at?: string;
  readonly execution_ended_at?: string;
  readonly cancelled_at?: string;
  readonly expires_at?: string;
  readonly error?: RunError;
  readonly query_parameters?: Readonly<Record<string, string>>;
}

/** How far a run is, where its engine says. */
export interface RunProgress {
  readonly percent?: number;
  readonly completed_splits?: number;
  readonly total_splits?: number;
  readonly processed_rows?: number;
  readonly processed_bytes?: number;
}

export interface RunStatus extends Run {
  readonly queue_position?: number;
  readonly progress?: RunProgress;
  readonly result_metadata?: {
    readonly column_names: readonly string[];
    readonly column_types: readonly string[];
    readonly total_row_count: number;
    readonly total_result_set_bytes: number;
  };
}

export interface ListAnswer {
  readonly total: number;
  readonly next_offset?: number;
}

export interface UsageCounts {
  readonly requests: number;
  readonly datapoints: number;
  readonly bytes: number;
}

export interface UsageAnswer {
  readonly from: string;
  readonly to: string;
  readonly key: UsageCounts & { readonly id: string };
  readonly owner: UsageCounts & { readonly user?: string; readonly team?: string };
  readonly days: readonly (UsageCounts & { readonly day: string })[];
  readonly queries: readonly (UsageCounts & { readonly query_id?: number })[];
}

/** What is shared with whoever has its address. */
export interface Share {
  readonly id: string;
  /** Absent: the latest run of the query. */
  readonly execution_id?: string;
  readonly columns?: readonly string[];
  readonly filters?: string;
  readonly created_at: string;
  readonly expires_at?: string;
  readonly last_used_at?: string;
}
