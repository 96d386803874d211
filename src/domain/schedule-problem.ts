/** Which queries may have a schedule: those that it could ever run. A refusal now is heard; that of each tick only the log has. */
import type { QueryChanges, QueryDefinition } from './query.ts';

type Scheduled = Partial<Pick<QueryDefinition, 'schedule' | 'sql' | 'parameters'>>;

/**
 * Why the schedule could not run the query once it is changed; undefined when it could, and when the changes are about something else.
 * @param before undefined for a query that is added
 */
export function scheduleProblem(before: Scheduled | undefined, changes: QueryChanges): string | undefined {
  const isAboutIt = (['schedule', 'sql', 'parameters'] as const).some((name) => name in changes);
  const { schedule, sql, parameters = [] } = { ...before, ...changes };
  if (!isAboutIt || schedule === undefined) return undefined;
  if (sql === undefined) return 'a schedule needs SQL: results of a query without are published by whoever runs it';
  const without = parameters.find(({ value }) => value === undefined);
  return without && `a schedule names no values: give parameter ${without.key} one of its own`;
}
