/**
 * How far a publish has come: a bar with rows, bytes and the time left, as one line of a terminal; or with `--json` events, one JSON
 * document a line, on standard error. How long the rest takes is guessed from how long the rows so far took.
 */
import { bytesInWords, counted, durationInWords } from '../domain/counted.ts';
import type { Progress } from '../publishing/publish.ts';
import type { CommandContext } from './command-context.ts';
import { ProgressLine } from './progress-line.ts';

const BAR_WIDTH = 24;
/** Between two events of the same phase. */
const EVENT_MILLIS = 1000;

export class PublishProgress implements Disposable {
  readonly #context: Pick<CommandContext, 'stderr' | 'monotonic'>;
  readonly #asEvents: boolean;
  readonly #line: ProgressLine;
  #phase: Progress['phase'] | undefined;
  #phaseBegunAt = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(context: Pick<CommandContext, 'stderr' | 'monotonic'>, asEvents: boolean) {
    this.#context = context;
    this.#asEvents = asEvents;
    this.#line = new ProgressLine(context.stderr);
  }

  show(progress: Progress): void {
    const now = this.#context.monotonic();
    const isNew = progress.phase !== this.#phase;
    if (isNew) [this.#phase, this.#phaseBegunAt] = [progress.phase, now];
    const left = secondsLeft(progress, now - this.#phaseBegunAt);
    if (!this.#asEvents) this.#line.show(progressText(progress, left));
    if (!this.#asEvents || (!isNew && now - this.#toldAt < EVENT_MILLIS)) return;
    this.#toldAt = now;
    this.#context.stderr.write(`${JSON.stringify(progressEvent(progress, left))}\n`);
  }

  [Symbol.dispose](): void {
    this.#line.clear();
  }
}

function secondsLeft(progress: Progress, spentMillis: number): number | undefined {
  const [done, total] = doneOf(progress);
  if (total === undefined || done === 0 || spentMillis === 0) return undefined;
  return (Math.max(total - done, 0) / done) * (spentMillis / 1000);
}

function doneOf(progress: Progress): readonly [done: number, total: number | undefined] {
  switch (progress.phase) {
    case 'reading':
      return [progress.bytes, undefined];
    case 'converting':
      return [progress.rows, progress.rowsTotal];
    case 'storing':
      return [progress.parts, progress.partsTotal];
    default:
      return progress satisfies never;
  }
}

/** @param left seconds, where that can be guessed */
function progressText(progress: Progress, left: number | undefined): string {
  const rest = left === undefined ? '' : `, ${durationInWords(left)} left`;
  switch (progress.phase) {
    case 'reading':
      return progress.bytes === 0 ? 'reading' : `reading: ${bytesInWords(progress.bytes)}`;
    case 'converting': {
      const { rows, rowsTotal, bytes } = progress;
      const size = bytes === 0 ? '' : `, ${bytesInWords(bytes)}`;
      if (rowsTotal === undefined) return `converting: ${counted(rows, 'row')}${size}`;
      const total = counted(rowsTotal, 'row');
      return `converting: ${bar(rows, rowsTotal)} ${rows.toLocaleString('en-US')} of ${total}${size}${rest}`;
    }
    case 'storing': {
      const { parts, partsTotal } = progress;
      return `storing: ${bar(parts, partsTotal)} ${parts} of ${counted(partsTotal, 'part')}${rest}`;
    }
    default:
      return progress satisfies never;
  }
}

function bar(done: number, total: number): string {
  const share = Math.min(done / Math.max(total, 1), 1);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${Math.floor(share * 100)} %`;
}

function progressEvent(progress: Progress, left: number | undefined): object {
  const event = { event: 'progress', phase: progress.phase };
  const rest = left === undefined ? {} : { seconds_left: Math.ceil(left) };
  switch (progress.phase) {
    case 'reading':
      return { ...event, bytes: progress.bytes };
    case 'converting':
      return { ...event, rows: progress.rows, rows_total: progress.rowsTotal, bytes: progress.bytes, ...rest };
    case 'storing':
      return { ...event, parts: progress.parts, parts_total: progress.partsTotal, ...rest };
    default:
      return progress satisfies never;
  }
}
