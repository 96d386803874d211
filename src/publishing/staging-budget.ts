/**
 * How much disk results take that are being published and are not stored yet: as they come, decompressed, and converted. There is one
 * budget for all of them, so that many that are sent at the same time, or one that is small only as long as it is compressed, cannot
 * take the disk from everything else.
 */
import { PublishError } from './publish-error.ts';

/** The bytes of one result in staging, until it is disposed of. */
export interface StagedBytes extends Disposable {
  /** Called before so many more bytes are written. @throws PublishError no_room · too_large */
  take(bytes: number): void;
  /** Called when so many bytes have been removed again. */
  give(bytes: number): void;
}

/** How writers see it. */
export type StagedWrites = Omit<StagedBytes, typeof Symbol.dispose>;

/** For a publisher that has the disk to itself. */
export const UNLIMITED_STAGING: StagedWrites = { take: () => undefined, give: () => undefined };

export class StagingBudget {
  readonly #limit: (stagedBytes: number) => Promise<number>;
  #staged = 0;

  /** @param limit the most bytes of all results together, where so many are staged now; asked when a result begins */
  constructor(limit: (stagedBytes: number) => Promise<number>) {
    this.#limit = limit;
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
    const limit = await this.#limit(this.#staged);
    this.#require(announced, announced, limit);
    let own = 0;
    const add = (bytes: number) => {
      own += bytes;
      this.#staged += bytes;
    };
    return {
      take: (bytes) => {
        this.#require(bytes, own + bytes, limit);
        add(bytes);
      },
      give: (bytes) => add(-bytes),
      [Symbol.dispose]: () => add(-own),
    };
  }

  #require(more: number, own: number, limit: number): void {
    if (own > limit) {
      throw new PublishError(
        `the result takes more than ${limit} bytes of disk until it is stored, and that is the most for all results that are being sent (QRS_UPLOAD_DISK)`,
        { kind: 'too_large' },
      );
    }
    if (this.#staged + more <= limit) return;
    throw new PublishError(
      `results that are being sent take ${this.#staged} bytes of disk, and ${limit} is the most (QRS_UPLOAD_DISK); nothing was changed, try again when some of them are stored`,
      { kind: 'no_room' },
    );
  }
}
