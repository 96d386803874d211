/** How far a publish has come, in words. */
import type { Progress } from '../publishing/publish.ts';

const BAR_WIDTH = 24;

export function publishProgress(progress: Progress): string {
  switch (progress.phase) {
    case 'reading':
      return 'reading';
    case 'converting':
      return `converting: ${progress.rows.toLocaleString('en-US')} rows`;
    case 'storing': {
      const filled = Math.round((progress.parts / Math.max(progress.partsTotal, 1)) * BAR_WIDTH);
      return `storing: [${'#'.repeat(filled)}${' '.repeat(BAR_WIDTH - filled)}] ${progress.parts} of ${progress.partsTotal}`;
    }
    default:
      return progress satisfies never;
  }
}
