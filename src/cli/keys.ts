/** `qrs keys`: make, list and revoke API keys. A key is printed once, when it is made; the catalog has only its hash. */
import { type Command, Option } from 'commander';
import { KEY_NAME_LENGTH_MAX } from '../domain/key.ts';
import { SCOPES, type Scope } from '../domain/scope.ts';
import { createKey, type KeyTerms } from '../keys/create-key.ts';
import { keyRecord, termsRecord } from '../keys/key-record.ts';
import { label, lifetime, ownerOf, ownerRecord, principalName } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

interface CreateOptions {
  readonly user?: string;
  readonly team?: string;
  readonly name?: string;
  readonly scope: Scope;
  readonly expires?: number;
  readonly json?: true;
}

export function addKeysCommand(program: Command, context: CommandContext): void {
  const keys = program.command('keys').description('make, list and revoke API keys');
  addCreate(keys, context);
  addList(keys, context);
  addRevoke(keys, context);
}

function addCreate(keys: Command, context: CommandContext): void {
  keys
    .command('create')
    .description('make a key for a user or a team and print it; it is never shown again')
    .option('--user <name>', 'the user that the key acts for', principalName)
    .option('--team <name>', 'the team that the key acts for', principalName)
    .option('--name <label>', 'what the key is for, to recognise it by in the list', label(KEY_NAME_LENGTH_MAX))
    .addOption(
      new Option('--scope <scope>', 'what the key may do: read results, also write for its owner, also administer')
        .choices(SCOPES)
        .default('read'),
    )
    .option(
      '--expires <time>',
      'how long the key is valid, such as 90d or 12h; until it is revoked if not given',
      lifetime,
    )
    .option('--json', 'print JSON, with the id of the key')
    .action(async (options: CreateOptions) => {
      const owner = ownerOf(options);
      const now = context.clock();
      const terms: KeyTerms = {
        scope: options.scope,
        ...(options.name !== undefined && { name: options.name }),
        ...(options.expires !== undefined && { expiresAt: now + options.expires }),
      };
      await withService(context, async (service) => {
        const { principals } = await service.catalog();
        const { id, key } = await createKey(principals, owner, terms, now, context.randomBytes);
        if (options.json) printJson(context, { id, key, ...ownerRecord(owner), ...termsRecord(terms) });
        else printLines(context, [key]);
        tell(context, `Keep this key: it is not shown again. To revoke it: qrs keys revoke ${id}`);
      });
    });
}

function addList(keys: Command, context: CommandContext): void {
  keys
    .command('list')
    .description('list the ids of all keys, oldest first')
    .option('--json', 'print JSON, with owner, label and times')
    .action(async (options: { readonly json?: true }) => {
      await withService(context, async (service) => {
        const all = await (await service.catalog()).principals.listKeys();
        printList(context, all, options, {
          value: ({ id }) => id,
          record: keyRecord,
          columns: {
            id: ({ id }) => id,
            owner: ({ owner }) => `${owner.kind} ${owner.name}`,
            name: ({ name }) => name,
            scope: ({ scope }) => scope,
            created_at: ({ createdAt }) => timeCell(createdAt),
            expires_at: ({ expiresAt }) => timeCell(expiresAt),
            last_used_at: ({ lastUsedAt }) => timeCell(lastUsedAt),
            revoked_at: ({ revokedAt }) => timeCell(revokedAt),
          },
          mayBeCut: ['name'],
          none: 'no keys yet; to make one: qrs keys create --user NAME',
        });
      });
    });
}

function addRevoke(keys: Command, context: CommandContext): void {
  keys
    .command('revoke')
    .description(
      'revoke a key; a running service stops accepting it at once, and answers to their ends the requests that it had accepted',
    )
    .argument('<id>', 'the id of the key, as listed')
    .action(async (id: string) => {
      await withService(context, async (service) => {
        const { principals } = await service.catalog();
        if (!(await principals.revokeKey(id, context.clock()))) {
          throw new Error(`there is no key ${id} that is not revoked already`);
        }
        printLines(context, [id]);
      });
    });
}
