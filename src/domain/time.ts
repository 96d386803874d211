/** Waiting, passed in like the clock, so that a test decides when time goes by. */

/** Resolves after `millis`; rejects with the signal's reason once it is aborted. */
export type Sleep = (millis: number, signal: AbortSignal) => Promise<void>;
