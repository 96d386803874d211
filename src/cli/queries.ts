/** `qrs queries`: the queries whose results are stored, who owns them, and who may read them. */
import type { Command } from 'commander';
import type { NewQuery } from '../domain/query.ts';
import { label, newQueryId, ownerOf, ownerRecord, principalName } from './arguments.ts';
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
  readonly json?: true;
}

export function addQueriesCommand(program: Command, context: CommandContext): void {
  const queries = program.command('queries').description('add and list queries');

  const add = queries
    .command('add')
    .description('add a query; it is public unless --private is given')
    .requiredOption('--id <number>', 'the id of the query, as clients ask for it', newQueryId)
    .option('--user <name>', 'the user who owns it', principalName)
    .option('--team <name>', 'the team that owns it', principalName)
    .option('--private', 'only its owner (and the members of the team) may read it')
    .option('--name <text>', 'what the query is called', label(200));
  sqlOptions(add)
    .option('--json', 'print JSON')
    .action(async (options: AddOptions) => {
      const query: NewQuery = {
        id: options.id,
        owner: ownerOf(options),
        visibility: options.private ? 'private' : 'public',
        ...(options.name !== undefined && { name: options.name }),
      };
      await withService(context, async (service) => {
        const sql = await readSql(options, service);
        await (await service.catalog()).queries.add({ ...query, ...sql }, context.clock());
        if (options.json) printJson(context, queryRecord(query));
        else printLines(context, [query.id]);
      });
    });

  addScheduleCommand(queries, context);
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
            name: ({ name }) => name,
          },
          none: 'no queries yet; to add one: qrs queries add --id N --user NAME',
        });
      });
    });
}

function queryRecord(query: NewQuery): object {
  return { id: query.id, name: query.name, ...ownerRecord(query.owner), visibility: query.visibility };
}
