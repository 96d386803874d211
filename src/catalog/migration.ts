/** Steps that make a catalog's tables, in any database, and which of them a catalog still needs. */

export interface Migration {
  /** 1, 2, 3, …: the version of the catalog after this step. */
  readonly number: number;
  readonly name: string;
  /** SQL, statements separated by semicolons. */
  readonly script: string;
}

/** The steps after a version. @throws Error in one line when the version is later than all of them */
export function migrationsAfter(version: number, migrations: readonly Migration[]): readonly Migration[] {
  const latest = migrations.at(-1)?.number ?? 0;
  if (version > latest) {
    throw new Error(
      `it has version ${version}, made by a newer release; this one knows version ${latest} and would damage it`,
    );
  }
  return migrations.filter(({ number }) => number > version);
}
