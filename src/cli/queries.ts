/** `qrs queries`: the queries whose results are stored, who owns them, and who may read them. */
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { declaredChangeProblem } from '../datasets/declared-by-dataset.ts';
import { changeDescriptions } from '../domain/column-descriptions.ts';
import {
  type NewQuery,
  QUERY_DESCRIPTION_LENGTH_MAX,
  QUERY_NAME_LENGTH_MAX,
  type QueryChanges,
  type QueryDefinition,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  whatRuns,
} from '../domain/query.ts';
import {
  columnDescriptions,
  label,
  labels,
  newQueryId,
  ownerOf,
  ownerRecord,
  principalName,
  queryId,
  UsageError,
} from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { idCell, printList } from './list.ts';
import { printJson, printLines } from './printing.ts';
import { addScheduleCommand, readSql, type SqlOptions, sqlOptions } from './query-sql.ts';
import { withService } from './with-service.ts';

interface AddOptions extends SqlOptions {
  readonly id: number;
  readonly user?: string;
  readonly team?: string;
  readonly private?: true;
  readonly name?: string;
  readonly description?: string;
  readonly tag?: readonly string[];
  readonly describe?: ReadonlyMap<string, string>;
  readonly json?: true;
}

interface SetOptions extends SqlOptions {
  readonly name?: string;
  readonly description?: string;
  readonly tag?: readonly string[];
  readonly describe?: ReadonlyMap<string, string>;
  readonly user?: string;
  readonly team?: string;
  readonly private?: true;
  readonly public?: true;
  readonly archive?: true;
  readonly unarchive?: true;
  readonly json?: true;
}

export function addQueriesCommand(program: Command, context: CommandContext): void {
  const queries = program.command('queries').description('add, change, list and remove queries');
  addAdd(queries, context);
  addSet(queries, context);
  addList(queries, context);
  addRemove(queries, context);
  addScheduleCommand(queries, context);
}

function addAdd(queries: Command, context: CommandContext): void {
  const add = queries
    .command('add')
    .description('add a query; it is public unless --private is given')
    .requiredOption('--id <number>', 'the id of the query, as clients ask for it', newQueryId)
    .option('--user <name>', 'the user who owns it', principalName)
    .option('--team <name>', 'the team that owns it', principalName)
    .option('--private', 'only its owner (and the members of the team) may read it')
    .option('--name <text>', 'what the query is called', label(QUERY_NAME_LENGTH_MAX))
    .option('--description <text>', 'what its results are', label(QUERY_DESCRIPTION_LENGTH_MAX))
    .option('--tag <tag...>', 'its tags', labels(TAGS_MAX, TAG_LENGTH_MAX))
    .option('--describe <column=text>', 'what a column means; may be repeated', columnDescriptions);
  sqlOptions(add)
    .option('--json', 'print JSON')
    .action(async (options: AddOptions) => {
      const query: NewQuery = {
        id: options.id,
        owner: ownerOf(options),
        visibility: options.private ? 'private' : 'public',
        ...(options.name !== undefined && { name: options.name }),
        ...(options.description !== undefined && { description: options.description }),
        ...(options.tag !== undefined && { tags: options.tag }),
        ...describedBy(undefined, options.describe),
      };
      await withService(context, async (service) => {
        const sql = await readSql(options, service, context);
        const added = await (await service.catalog()).queries.add({ ...query, ...sql }, context.clock());
        if (options.json) printJson(context, queryRecord(added));
        else printLines(context, [added.id]);
      });
    });
}

function addSet(queries: Command, context: CommandContext): void {
  const set = queries
    .command('set')
    .description('change a query: what is not named stays as it is')
    .argument('<id>', 'the id of the query', queryId)
    .option('--name <text>', 'what the query is called', label(QUERY_NAME_LENGTH_MAX))
    .option('--description <text>', 'what its results are', label(QUERY_DESCRIPTION_LENGTH_MAX))
    .option('--tag <tag...>', 'its tags, instead of those before', labels(TAGS_MAX, TAG_LENGTH_MAX))
    .option(
      '--describe <column=text>',
      'what a column means; without a text: nothing more; may be repeated',
      columnDescriptions,
    )
    .option('--user <name>', 'give it to this user', principalName)
    .option('--team <name>', 'give it to this team', principalName)
    .option('--private', 'only its owner (and the members of the team) may read it')
    .option('--public', 'everybody may read it')
    .option('--archive', 'serve what it has, and take no new runs')
    .option('--unarchive', 'take runs again');
  sqlOptions(set)
    .option('--json', 'print JSON')
    .action(async (id: number, options: SetOptions) => {
      const changes = changesOf(options);
      await withService(context, async (service) => {
        const catalog = await service.catalog();
        const before = await catalog.queries.find(id);
        const sql = await readSql(options, service, context, before);
        const whole = { ...changes, ...describedBy(before, options.describe), ...sql };
        if (Object.keys(whole).length === 0) throw new UsageError('nothing to change: name an option');
        const problem = before && (await declaredChangeProblem(before, whole, service));
        if (problem !== undefined) throw new Error(problem);
        const query = await catalog.atomically(async ({ queries: all }) => {
          // Read again: somebody may have described other columns meanwhile, or changed what this was checked against.
          const now = await all.find(id);
          if (Object.keys(sql).length > 0 && !isDeepStrictEqual(now && whatRuns(now), before && whatRuns(before))) {
            throw new Error(`query ${id} was changed by somebody else at this moment; try again`);
          }
          const described = describedBy(now, options.describe);
          return await all.update(id, { ...whole, ...described }, context.clock());
        });
        if (options.json) printJson(context, queryRecord(query));
        else printLines(context, [query.id]);
      });
    });
}

function describedBy(
  before: Pick<QueryDefinition, 'columnDescriptions'> | undefined,
  described: ReadonlyMap<string, string> | undefined,
): Pick<QueryDefinition, 'columnDescriptions'> {
  if (described === undefined) return {};
  return { columnDescriptions: changeDescriptions(before?.columnDescriptions, described) ?? {} };
}

function addRemove(queries: Command, context: CommandContext): void {
  queries
    .command('remove')
    .description('remove a query and the record of its runs; refused while a result is stored or a run goes on')
    .argument('<id>', 'the id of the query', queryId)
    .action(async (id: number) => {
      await withService(context, async (service) => {
        await (await service.catalog()).queries.remove(id);
        printLines(context, [id]);
      });
    });
}

/** @throws UsageError for options that exclude each other */
function changesOf(options: SetOptions): QueryChanges {
  const { name, description, tag, user, team } = options;
  if (options.private && options.public) throw new UsageError('give one of --private and --public');
  if (options.archive && options.unarchive) throw new UsageError('give one of --archive and --unarchive');
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tags: tag }),
    ...((user ?? team) !== undefined && { owner: ownerOf(options) }),
    ...(options.private && { visibility: 'private' as const }),
    ...(options.public && { visibility: 'public' as const }),
    ...((options.archive ?? options.unarchive) && { isArchived: options.archive ?? false }),
  };
}

function addList(queries: Command, context: CommandContext): void {
  queries
    .command('list')
    .description('list queries by id')
    .option('--json', 'print JSON')
    .action(async (options: { readonly json?: true }) => {
      await withService(context, async (service) => {
        const all = await (await service.catalog()).queries.list();
        printList(context, all, options, {
          value: ({ id }) => id,
          record: queryRecord,
          columns: {
            id: ({ id }) => idCell(id),
            owner: ({ owner }) => `${owner.kind} ${owner.name}`,
            visibility: ({ visibility }) => visibility,
            archived: ({ isArchived }) => (isArchived ? 'archived' : undefined),
            name: ({ name }) => name,
          },
          mayBeCut: ['name'],
          none: 'no queries yet; to add one: qrs queries add --id N --user NAME',
        });
      });
    });
}

function queryRecord(query: NewQuery): object {
  const { id, name, owner, visibility, description, tags = [], schedule, isArchived, columnDescriptions } = query;
  return {
    id,
    name,
    ...ownerRecord(owner),
    visibility,
    description,
    ...(tags.length > 0 && { tags }),
    column_descriptions: columnDescriptions,
    schedule,
    ...(isArchived && { archived: true }),
  };
}
