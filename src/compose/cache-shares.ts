/**
 * How the memory for finished answers is divided: answers, next pages and encoded ranges of walks, compressed answers, whole responses, catalog look-ups, and segment indexes of streamed answers (40 bytes for each 32,768 rows).
 */
export const CACHE_SHARES = {
  pages: 0.465,
  ahead: 0.03,
  rangesAhead: 0.06,
  compressed: 0.29,
  answers: 0.07,
  catalog: 0.04,
  statistics: 0.01,
  segmentIndexes: 0.035,
} as const;
