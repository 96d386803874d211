/** How the memory for finished answers (`QRS_PAGE_CACHE`) is divided. ARCHITECTURE.md says what each cache is for. */
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
