/** Steps that make a catalog's tables, in any database: which of them a catalog still needs, and when they may be taken. */

export interface Migration {
  /** 1, 2, 3, …: the version of the catalog after this step. */
  readonly number: number;
  readonly name: string;
  /** SQL, statements separated by semicolons. */
  readonly script: string;
  /**
   * Programs that know only the steps before go on with the catalog as it is after this one: all that they read and write still means the
   * same. Without it they do not, and the step is not taken while one of them runs.
   */
  readonly olderGoOn?: true;
}

export interface CatalogState {
  /** 0: there is no catalog yet. */
  readonly version: number;
  /** Programs that know this version, or a later one, may use it. */
  readonly usableFrom: number;
  /** Those that were seen lately. */
  readonly replicas: readonly RunningReplica[];
}

export interface RunningReplica {
  readonly name: string;
  /** Its release. */
  readonly version: string;
  /** The latest version of a catalog that it knows. */
  readonly knows: number;
}

/** How many are named. */
const NAMED_MAX = 5;

/** The steps that a catalog still needs. @throws Error in one line when it is newer than all of them and cannot be used by who knows no more */
export function migrationsAfter(
  { version, usableFrom }: Pick<CatalogState, 'version' | 'usableFrom'>,
  migrations: readonly Migration[],
): readonly Migration[] {
  const latest = migrations.at(-1)?.number ?? 0;
  if (version > latest && usableFrom > latest) {
    throw new Error(
      `it has version ${version}, made by a newer release; this one knows version ${latest} and would damage it`,
    );
  }
  return migrations.filter(({ number }) => number > version);
}

/** @throws Error in one line when a replica runs that could not go on after these steps */
export function requireNoneLeftBehind(steps: readonly Migration[], replicas: readonly RunningReplica[]): void {
  const needed = usableFromAfter(steps);
  const left = replicas.filter(({ knows }) => needed !== undefined && knows < needed);
  if (left.length === 0) return;
  const named = left.slice(0, NAMED_MAX).map(({ name, version }) => `${name} (${version})`);
  const more = left.length > NAMED_MAX ? ` and ${left.length - NAMED_MAX} more` : '';
  throw new Error(
    `it cannot be brought to version ${needed} while replicas of an older release run, which could not go on: ${named.join(', ')}${more}; stop them first, or wait half a minute if they died`,
  );
}

/** From which version on programs may use a catalog after these steps; undefined: as before. */
export function usableFromAfter(steps: readonly Migration[]): number | undefined {
  return steps.findLast(({ olderGoOn }) => olderGoOn !== true)?.number;
}
