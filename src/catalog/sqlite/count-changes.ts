/** Counts what is changed of the tables that answers depend on: a trigger for each, so that every writer counts, whatever its release. */

/** Access, runs and results. */
const ANSWERED_FROM = ['users', 'teams', 'team_members', 'api_keys', 'queries', 'executions', 'result_sets'];

const TRIGGERS = ANSWERED_FROM.flatMap((table) =>
  ['insert', 'update', 'delete'].map(
    (event) =>
      `create trigger ${table}_${event} after ${event} on ${table} begin update changes set count = count + 1; end;`,
  ),
);

/** Belongs to a migration: never changed after its release. */
export const COUNT_CHANGES = TRIGGERS.join('\n');
