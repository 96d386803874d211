/** The headers that say what an answer has and costs, before its rows are read. */
import type { PageOfRows } from '../read/page.ts';

export function priceHeaders({
  rowCount,
  datapoints,
}: Pick<PageOfRows, 'rowCount' | 'datapoints'>): Readonly<Record<string, string>> {
  return {
    'row-count': String(rowCount),
    ...(datapoints !== undefined && { 'datapoint-count': String(datapoints) }),
  };
}
