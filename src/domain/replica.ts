/** How it is known which replicas of the service run: each writes so again and again, and what was not heard of for a while has died. */

export const BEAT_MILLIS = 10_000;

/** Two beats may be lost. */
export const LIVE_MILLIS = 3 * BEAT_MILLIS;
