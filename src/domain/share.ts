/** What a share lets whoever has its address read (contract §11): one result, or the latest of a query; all of it, or some columns and rows. */
export interface Share {
  readonly queryId: number;
  /** Absent: the query's latest result. */
  readonly executionId?: string | undefined;
  /** Absent: all. */
  readonly columns?: readonly string[] | undefined;
  /** A filter expression (contract §5). Absent: all rows. */
  readonly filters?: string | undefined;
}
