/** `qrs teams`: groups of users; a team's queries are for all of its members, and a key may act for the team itself. */
import type { Command } from 'commander';
import type { Principals } from '../catalog/catalog.ts';
import { formatInstant } from '../domain/instant.ts';
import { principalName, principalNames } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

interface AddOptions {
  readonly member?: readonly string[];
  readonly json?: true;
}

export function addTeamsCommand(program: Command, context: CommandContext): void {
  const teams = program.command('teams').description('add and list teams, and say who is in them');

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
          mayBeCut: ['members'],
          none: 'no teams yet; to add one: qrs teams add NAME --member USER',
        });
      });
    });

  addMemberStep(teams, context, {
    name: 'add-member',
    about: 'put a user into a team; the keys of the user act for the team at once',
    take: (principals, team, user) => principals.addTeamMember(team, user),
    none: (team, user) => `${user} is in ${team} already`,
  });
  addMemberStep(teams, context, {
    name: 'remove-member',
    about: 'take a user out of a team; the keys of the user no longer act for it, at once',
    take: (principals, team, user) => principals.removeTeamMember(team, user),
    none: (team, user) => `${user} is not in ${team}`,
  });
}

interface MemberStep {
  readonly name: string;
  readonly about: string;
  /** @returns whether anything has changed */
  readonly take: (principals: Principals, team: string, user: string) => Promise<boolean>;
  /** Said when nothing has. */
  readonly none: (team: string, user: string) => string;
}

function addMemberStep(teams: Command, context: CommandContext, step: MemberStep): void {
  teams
    .command(step.name)
    .description(step.about)
    .argument('<team>', 'the name of the team', principalName)
    .argument('<user>', 'the name of the user', principalName)
    .action(async (team: string, user: string) => {
      await withService(context, async (service) => {
        const changed = await step.take((await service.catalog()).principals, team, user);
        if (!changed) tell(context, step.none(team, user));
        printLines(context, [user]);
      });
    });
}
