/**
 * `qrs shares`: make, list and end shares. The address of a share is printed once, when it is made; the catalog has only a hash of the
 * token in it.
 */
import type { Command } from 'commander';
import { createShare } from '../compose/shares.ts';
import { isExecutionId } from '../domain/execution.ts';
import { expiryRecord, shareRecord } from '../keys/key-record.ts';
import { label, lifetime, queryId, queryOrExecutionId } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { idCell, printList, timeCell } from './list.ts';
import { serviceUrl } from './open.ts';
import { printJson, printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

/** Of the text of an expression; how long it may be says a setting. */
const FILTER_LENGTH_MAX = 100_000;

export function addSharesCommand(program: Command, context: CommandContext): void {
  const shares = program.command('shares').description('make, list and end shares: results for whoever has an address');
  addCreate(shares, context);
  addList(shares, context);
  addEnd(shares, context);
}

interface CreateOptions {
  readonly columns?: string;
  readonly filter?: string;
  readonly expires?: number;
  readonly json?: true;
}

function addCreate(shares: Command, context: CommandContext): void {
  shares
    .command('create')
    .description('share the latest result of a query, or one execution, and print the address; it is never shown again')
    .argument('<query>', 'the id of a query, or of an execution', queryOrExecutionId)
    .option('--columns <names>', 'show these columns alone, separated by commas, in this order')
    .option('--filter <expression>', 'show only the rows that match', label(FILTER_LENGTH_MAX))
    .option('--expires <time>', 'how long it is shared, such as 90d or 12h; until it is ended if not given', lifetime)
    .option('--json', 'print JSON, with the id of the share')
    .action(async (shared: string, { columns, filter, expires, json }: CreateOptions) => {
      const expiresAt = expires === undefined ? undefined : context.clock() + expires;
      const asked = {
        of: isExecutionId(shared) ? { executionId: shared.toUpperCase() } : { queryId: Number(shared) },
        ...(columns !== undefined && { columns }),
        ...(filter !== undefined && { filters: filter }),
        ...(expiresAt !== undefined && { expiresAt }),
      };
      await withService(context, async (service) => {
        const { id, key } = await createShare(asked, service, context.randomBytes);
        const url = `${serviceUrl(service.settings)}/v1/shared/${key}/results`;
        if (json) printJson(context, { url, id, ...expiryRecord(expiresAt) });
        else printLines(context, [url]);
        tell(context, `Keep this address: it is not shown again. To end it: qrs shares end ${id}`);
      });
    });
}

function addList(shares: Command, context: CommandContext): void {
  shares
    .command('list')
    .description('list the ids of all shares, oldest first')
    .option('--query <id>', 'only those of this query and its executions', queryId)
    .option('--json', 'print JSON, with all columns that a share shows')
    .action(async (options: { readonly query?: number; readonly json?: true }) => {
      await withService(context, async (service) => {
        const all = await (await service.catalog()).principals.listShares(options.query);
        printList(context, all, options, {
          value: ({ id }) => id,
          record: shareRecord,
          columns: {
            id: ({ id }) => id,
            owner: ({ owner }) => `${owner.kind} ${owner.name}`,
            query_id: ({ share }) => idCell(share.queryId),
            execution_id: ({ share }) => share.executionId,
            columns: ({ share }) => share.columns?.join(', '),
            filters: ({ share }) => share.filters,
            created_at: ({ createdAt }) => timeCell(createdAt),
            expires_at: ({ expiresAt }) => timeCell(expiresAt),
            last_used_at: ({ lastUsedAt }) => timeCell(lastUsedAt),
            ended_at: ({ revokedAt }) => timeCell(revokedAt),
          },
          mayBeCut: ['columns', 'filters'],
          none: 'nothing is shared yet; to share the latest result of a query: qrs shares create ID',
        });
      });
    });
}

function addEnd(shares: Command, context: CommandContext): void {
  shares
    .command('end')
    .description('end a share: from then on nothing is shown at its address')
    .argument('<id>', 'the id of the share, as listed')
    .action(async (id: string) => {
      await withService(context, async (service) => {
        const { principals } = await service.catalog();
        const isShare = (await principals.listShares()).some((share) => share.id === id);
        if (!isShare || !(await principals.revokeKey(id, context.clock()))) {
          throw new Error(`there is no share ${id} that has not ended`);
        }
        printLines(context, [id]);
      });
    });
}
