/**
 * The SDK learns from a refusal how far this host's clock is off, and repeats the request. When somebody has set the clock right, what it
 * has learned is what is wrong: it unlearns that, but gives the refusal to whoever asked. Here that request is repeated, too.
 */
import type { S3Client } from '@aws-sdk/client-s3';

/** Servers refuse requests of clocks that are further off than some minutes: a smaller correction is not about that. */
const REFUSED_MILLIS_MIN = 4 * 60_000;

export function repeatWithMendedClock({ config, middlewareStack }: S3Client): void {
  middlewareStack.add(
    (next) => async (args) => {
      const before = config.systemClockOffset;
      try {
        return await next(args);
      } catch (error) {
        if (Math.abs(config.systemClockOffset - before) < REFUSED_MILLIS_MIN) throw error;
        return await next(args);
      }
    },
    { step: 'initialize', name: 'repeatWithMendedClock' },
  );
}
