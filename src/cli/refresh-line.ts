/** What a refresh came to, as a line of words. */
import { counted } from '../domain/counted.ts';
import type { RefreshEvent } from '../scheduler/refresh.ts';

export function refreshLine(event: RefreshEvent): string {
  const dataset = `dataset ${event.dataset}`;
  switch (event.kind) {
    case 'started':
      return `${dataset}: refreshing`;
    case 'refreshed':
      return `${dataset}: ${counted(event.rowCount, 'row')} in ${(event.millis / 1000).toFixed(1)} s`;
    case 'failed': {
      const { type, message, line, column } = event.error;
      const place = line === undefined ? '' : ` (line ${line}${column === undefined ? '' : `, column ${column}`})`;
      return `${dataset} was not refreshed: ${type}: ${message}${place}`;
    }
    case 'interrupted':
      return `${dataset}: the refresh was interrupted`;
    case 'orphan_failed':
      return `${dataset}: run ${event.executionId} was left unfinished by a process that is gone, and has been failed`;
    default:
      return event satisfies never;
  }
}
