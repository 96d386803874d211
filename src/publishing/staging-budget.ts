/**
 * Bounds the disk space of results that are being published: as they arrive, decompressed, and converted. All of them share one budget, so
 * that neither many uploads at the same time, nor one that is small only while it is compressed, take the disk from everything else.
 */
import { PublishError } from './publish-error.ts';

/** The bytes of one result in staging, until it is disposed of. */
export interface StagedBytes extends Disposable {
  /** Called before so many more bytes are written. @throws PublishError no_room · too_large */
  take(bytes: number): Promise<void>;
  /** Called when so many bytes have been removed again. */
  give(bytes: number): void;
}

/** The part of it that writers use. */
export type StagedWrites = Omit<StagedBytes, typeof Symbol.dispose>;

/** For a publisher that has the disk to itself. */
export const UNLIMITED_STAGING: StagedWrites = { take: async () => undefined, give: () => undefined };

/** The most bytes of all results together. */
export interface StagingLimit {
  readonly now: number;
  /** The limit if the disk held nothing else. A result that takes more is refused however often it is sent. */
  readonly ever: number;
}

/** The disk that results are staged on. */
export interface StagingDisk {
  /** @param stagedBytes are taken by results already */
  limit(stagedBytes: number): Promise<StagingLimit>;
  /** Removes what can be had again, until the limit is so many bytes higher. @returns whether anything went */
  makeRoom(bytes: number): Promise<boolean>;
}

export class StagingBudget {
  readonly #disk: StagingDisk;
  #staged = 0;

  /** @param disk is asked when a result begins, and when it has made room for one */
  constructor(disk: StagingDisk) {
    this.#disk = disk;
  }

  /** Of all results that are being published. */
  get bytes(): number {
    return this.#staged;
  }

  /**
   * @param announced so many bytes are known to come: what has no room is refused before any of it is written
   * @throws PublishError no_room · too_large
   */
  async begin(announced: number): Promise<StagedBytes> {
    let limit = await this.#disk.limit(this.#staged);
    let [own, ended] = [0, false];
    const makeRoom = async (more: number) => {
      const missing = this.#staged + more - limit.now;
      const isMissed = missing > 0 && limit.now < limit.ever && own + more <= limit.ever;
      if (isMissed && (await this.#disk.makeRoom(missing))) limit = await this.#disk.limit(this.#staged);
    };
    const add = (bytes: number) => {
      // A writer that was stopped may still be told that there is room.
      if (ended) return;
      own += bytes;
      this.#staged += bytes;
    };
    await makeRoom(announced);
    this.#require(announced, announced, limit);
    return {
      take: async (bytes) => {
        await makeRoom(bytes);
        // Nothing is awaited between the check and the count.
        this.#require(bytes, own + bytes, limit);
        add(bytes);
      },
      give: (bytes) => add(-bytes),
      [Symbol.dispose]: () => {
        add(-own);
        ended = true;
      },
    };
  }

  #require(more: number, own: number, { now, ever }: StagingLimit): void {
    if (own > ever) {
      throw new PublishError(
        `the result takes more than ${ever} bytes of disk until it is stored, and that is the most for all results that are being sent (QRS_UPLOAD_DISK)`,
        { kind: 'too_large' },
      );
    }
    if (own > now) {
      throw new PublishError(
        `a disk of the service is too full: results that are being sent may take ${now} bytes of it at the moment (QRS_UPLOAD_DISK), and this one takes more; nothing was changed, try again when there is room`,
        { kind: 'no_room' },
      );
    }
    if (this.#staged + more <= now) return;
    throw new PublishError(
      `results that are being sent take ${this.#staged} bytes of disk, and ${now} is the most (QRS_UPLOAD_DISK); nothing was changed, try again when some of them are stored`,
      { kind: 'no_room' },
    );
  }
}
