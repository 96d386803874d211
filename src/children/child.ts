/** What a child process is started with, and how it ends. */

/** How a child is started. */
export interface ChildOptions {
  /** The path of its program, and its Node flags. */
  readonly program: string;
  readonly flags: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Where it starts; left out: where this process did. */
  readonly cwd?: string;
  /** As `os.setPriority` takes it. */
  readonly priority?: number;
}

/** How a child ended: `error` where it could not be started. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: Error;
}
