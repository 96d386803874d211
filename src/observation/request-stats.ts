/**
 * What one request cost and how long its stages took. The pipeline fills it in as it goes; the log, the metrics and the usage
 * accounts read it when the answer has ended.
 */
export class RequestStats {
  /** Milliseconds spent in each stage, by its name in ARCHITECTURE.md, in the order they were entered. */
  readonly stageMillis = new Map<string, number>();
  executionId: string | undefined;
  queryId: number | undefined;
  /** Rows, cell bytes and datapoints handed out so far. */
  rowCount = 0;
  cellBytes = 0;
  datapoints = 0;
  cache: 'hit' | 'miss' | undefined;
  /** How the rows of a filter or an order were found, and why so: in characters that a header and JSON take as they are. */
  way: string | undefined;
  /** Bytes of the body that was handed to the connection, compressed as it was sent. */
  bodyBytes = 0;
  /** Bytes of a body whose rows were all counted before any of it was sent. */
  countedBytes: number | undefined;
  /** Of an answer that is an error. */
  errorCode: string | undefined;

  add(read: { readonly rowCount: number; readonly cellBytes: number; readonly datapoints: number }): void {
    this.rowCount += read.rowCount;
    this.cellBytes += read.cellBytes;
    this.datapoints += read.datapoints;
  }

  /** Of an answer that was worked out whole only a part is handed out: so much of it is counted, rounded up. */
  keepShare(share: number): void {
    this.rowCount = Math.ceil(this.rowCount * share);
    this.cellBytes = Math.ceil(this.cellBytes * share);
    this.datapoints = Math.ceil(this.datapoints * share);
  }

  /** Nothing counts that was handed out so far, as when an answer was worked out and only its head is sent. */
  clearCounts(): void {
    this.rowCount = 0;
    this.cellBytes = 0;
    this.datapoints = 0;
    this.bodyBytes = 0;
  }

  /** Times a stage. @param now a monotonic clock in milliseconds */
  async stage<T>(name: string, now: () => number, work: () => T | Promise<T>): Promise<T> {
    const start = now();
    try {
      return await work();
    } finally {
      this.spent(name, now() - start);
    }
  }

  spent(name: string, millis: number): void {
    this.stageMillis.set(name, (this.stageMillis.get(name) ?? 0) + millis);
  }
}
