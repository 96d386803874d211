/** What a smoke run has counted, and its one line. */

export type KillKind = 'replica' | 'postgres' | 's3' | 'trino';

export class Figures {
  /** Reads whose content was as it should be. */
  answers = 0;
  /** Refusals, by code. */
  readonly refused = new Map<string, number>();
  /** Connections that broke when a replica was killed. */
  cut = 0;
  readonly wrong: string[] = [];
  /** Acknowledged, and not there, or not as it was; ticks and runs that were not completed once. */
  readonly lost: string[] = [];
  /** From the moment when the process is there again until every replica does its whole work, by what was killed. */
  readonly recoveryMillis = new Map<KillKind, number[]>();
  publishes = 0;
  runs = 0;
  ticks = 0;
  /** Ticks of a query whose earlier run went on until the next tick: they have no run of their own. */
  ticksInRuns = 0;
  /** Runs that failed and said that Trino, which had been killed, was the reason. */
  failedWithTrino = 0;
  revokedMillisMax = 0;

  readonly #tell: (line: string) => void;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  get isWell(): boolean {
    return this.wrong.length === 0 && this.lost.length === 0;
  }

  addWrong(problem: string): void {
    this.wrong.push(problem);
    this.#tell(`WRONG after ${Math.round(performance.now() / 1000)} s: ${problem}`);
  }

  addLost(problem: string): void {
    this.lost.push(problem);
    this.#tell(`LOST: ${problem}`);
  }

  addRefusal(code: string): void {
    this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
  }

  addRecovery(kind: KillKind, millis: number): void {
    this.recoveryMillis.set(kind, [...(this.recoveryMillis.get(kind) ?? []), millis]);
  }

  /** @param servers which took part, for people */
  line(seconds: number, servers: readonly string[]): string {
    const refusals = [...this.refused].map(([code, count]) => `${code} ${count}`).join(', ');
    const refusedCount = [...this.refused.values()].reduce((sum, count) => sum + count, 0);
    const recoveries = [...this.recoveryMillis].map(([kind, millis]) => {
      const worst = (Math.max(...millis) / 1000).toFixed(1);
      return `${kind} ${worst} s (${millis.length} kills)`;
    });
    return [
      `${Math.round(seconds)} s: ${this.answers} answers, ${this.wrong.length} wrong, ${this.lost.length} lost`,
      `${refusedCount} refused${refusals === '' ? '' : ` (${refusals})`}, ${this.cut} cut with a replica`,
      `${this.publishes} publishes, ${this.runs} runs and ${this.ticks} ticks each done once`,
      ...(this.ticksInRuns > 0 ? [`${this.ticksInRuns} ticks passed in a run that went on`] : []),
      ...(this.recoveryMillis.has('trino') ? [`${this.failedWithTrino} runs failed with Trino and said so`] : []),
      `a revoked key read on for ${Math.round(this.revokedMillisMax)} ms at most`,
      `recovered after ${recoveries.join(', ')}`,
      servers.join(', '),
    ].join('; ');
  }
}
