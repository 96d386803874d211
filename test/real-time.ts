/** Real waiting, for tests in which nothing waits on a clock that they move. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Sleep } from '../src/domain/time.ts';

export const sleep: Sleep = async (millis, signal) => await wait(millis, undefined, { signal });
