/** `qrs users`: the people that keys act for. */
import type { Command } from 'commander';
import { formatInstant } from '../domain/instant.ts';
import { principalName } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printList, timeCell } from './list.ts';
import { printJson, printLines } from './printing.ts';
import { withService } from './with-service.ts';

interface JsonOption {
  readonly json?: true;
}

export function addUsersCommand(program: Command, context: CommandContext): void {
  const users = program.command('users').description('add, list and remove users');

  users
    .command('add')
    .description('add a user')
    .argument('<name>', 'the name of the user', principalName)
    .option('--json', 'print JSON')
    .action(async (name: string, options: JsonOption) => {
      await withService(context, async (service) => {
        const now = context.clock();
        await (await service.catalog()).principals.addUser(name, now);
        if (options.json) printJson(context, { name, created_at: formatInstant(now) });
        else printLines(context, [name]);
      });
    });

  users
    .command('list')
    .description('list users by name')
    .option('--json', 'print JSON')
    .action(async (options: JsonOption) => {
      await withService(context, async (service) => {
        const all = await (await service.catalog()).principals.listUsers();
        printList(context, all, options, {
          value: ({ name }) => name,
          record: ({ name, createdAt }) => ({ name, created_at: formatInstant(createdAt) }),
          columns: { name: ({ name }) => name, created_at: ({ createdAt }) => timeCell(createdAt) },
          none: 'no users yet; to add one: qrs users add NAME',
        });
      });
    });

  users
    .command('remove')
    .description(
      'remove a user: the keys of the user end and the user leaves all teams; refused while the user owns queries',
    )
    .argument('<name>', 'the name of the user', principalName)
    .action(async (name: string) => {
      await withService(context, async (service) => {
        await (await service.catalog()).principals.removeUser(name, context.clock());
        printLines(context, [name]);
      });
    });
}
