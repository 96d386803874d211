/** The ids of queries that are set apart for curated datasets, those of releases to come included. */

export const RESERVED_QUERY_IDS_FROM = 990_000_001;

export function isReservedQueryId(id: number): boolean {
  return id >= RESERVED_QUERY_IDS_FROM;
}
