/** `qrs teams`: groups of users; a team's queries are for all of its members, and a key may act for the team itself. */
import type { Command } from 'commander';
import { formatInstant } from '../domain/instant.ts';
import { principalName, principalNames } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printList, timeCell } from './list.ts';
import { printJson, printLines } from './printing.ts';
import { withService } from './with-service.ts';

interface AddOptions {
  readonly member?: readonly string[];
  readonly json?: true;
}

export function addTeamsCommand(program: Command, context: CommandContext): void {
  const teams = program.command('teams').description('add and list teams');

  teams
    .command('add')
    .description('add a team')
    .argument('<name>', 'the name of the team', principalName)
    .option('--member <user>', 'a user who is in it; may be repeated', principalNames)
    .option('--json', 'print JSON')
    .action(async (name: string, options: AddOptions) => {
      await withService(context, async (service) => {
        const now = context.clock();
        const members = [...new Set(options.member)].sort();
        await (await service.catalog()).principals.addTeam(name, members, now);
        if (options.json) printJson(context, { name, members, created_at: formatInstant(now) });
        else printLines(context, [name]);
      });
    });

  teams
    .command('list')
    .description('list teams by name')
    .option('--json', 'print JSON, with the members')
    .action(async (options: { readonly json?: true }) => {
      await withService(context, async (service) => {
        const all = await (await service.catalog()).principals.listTeams();
        printList(context, all, options, {
          value: ({ name }) => name,
          record: ({ name, members, createdAt }) => ({ name, members, created_at: formatInstant(createdAt) }),
          columns: {
            name: ({ name }) => name,
            members: ({ members }) => members.join(', '),
            created_at: ({ createdAt }) => timeCell(createdAt),
          },
          none: 'no teams yet; to add one: qrs teams add NAME --member USER',
        });
      });
    });
}
