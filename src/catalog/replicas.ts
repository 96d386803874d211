/**
 * The part of the catalog that knows which replicas of the service there are: a row for each, written again and again while it runs. A
 * replica is one `qrs serve`, with all its workers. Times are by the catalog's clock.
 */
import type { Instant } from '../domain/instant.ts';

export interface Replica {
  /** Of this start of the replica. */
  readonly id: string;
  /** As its operator calls it. */
  readonly name: string;
  /** The release that it runs: `1.2.3`. */
  readonly version: string;
}

export interface SeenReplica extends Replica {
  /** The latest version of a catalog that it knows. */
  readonly knows: number;
  readonly since: Instant;
  readonly lastSeen: Instant;
}

export interface Replicas {
  /** Writes that it runs. */
  beat(replica: Replica): Promise<void>;
  /** It has stopped: it counts no more from now on. */
  remove(id: string): Promise<void>;
  /** Those that were seen within this time, the oldest first. Others have died; of those nothing is kept for longer than a day. */
  list(withinMillis: number): Promise<readonly SeenReplica[]>;
}
