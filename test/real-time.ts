/** Real waiting, for tests without a fake clock. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Sleep } from '../src/domain/time.ts';

export const sleep: Sleep = async (millis, signal) => await wait(millis, undefined, { signal });
