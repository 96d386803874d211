/** `qrs webhooks`: addresses that are told when runs end and datasets become stale, and what became of telling them. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Delivery, WEBHOOK_EVENTS, type Webhook, type WebhookEvent } from '../domain/webhook.ts';
import { SETTINGS } from '../settings/settings.ts';
import { addWebhook } from '../webhooks/add-webhook.ts';
import { EXPECTED_URL, urlProblem } from '../webhooks/public-address.ts';
import { deliveryRecord, webhookRecord } from '../webhooks/webhook-record.ts';
import { listLimit, ownerOf, principalName, queryId, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { idCell, printList, timeCell } from './list.ts';
import { printJson, printLines, tell } from './printing.ts';
import { withService } from './with-service.ts';

interface AddOptions {
  readonly user?: string;
  readonly team?: string;
  readonly query?: number;
  readonly event?: readonly WebhookEvent[];
  readonly json?: true;
}

export function addWebhooksCommand(program: Command, context: CommandContext): void {
  const webhooks = program
    .command('webhooks')
    .description('tell an address when runs end and datasets become stale, and see what became of it');
  addAdd(webhooks, context);
  addList(webhooks, context);
  addDeliveries(webhooks, context);
  addRemove(webhooks, context);
}

function addAdd(webhooks: Command, context: CommandContext): void {
  webhooks
    .command('add')
    .description('add a webhook and print the secret that its messages are signed with; it is never shown again')
    .argument('<url>', `where messages are sent: ${EXPECTED_URL}`)
    .option('--user <name>', 'the user whose it is', principalName)
    .option('--team <name>', 'the team whose it is', principalName)
    .option('--query <id>', 'tell of this query; of all queries of the owner if not given', queryId)
    .addOption(new Option('--event <event...>', 'what to tell; everything if not given').choices(WEBHOOK_EVENTS))
    .option('--json', 'print JSON, with the id of the webhook')
    .action(async (url: string, options: AddOptions) => {
      const owner = ownerOf(options);
      await withService(context, async (service) => {
        const allowsPrivate = service.settings.webhooksPrivate;
        const problem = urlProblem(url, { allowsPrivate });
        if (problem !== undefined) {
          const hint = urlProblem(url, { allowsPrivate: true }) === undefined ? allowedBy : '';
          throw new UsageError(`the address is ${problem}: expected ${EXPECTED_URL}${hint}`);
        }
        const { webhooks: all } = await service.catalog();
        const terms = {
          owner,
          url,
          ...(options.query !== undefined && { queryId: options.query }),
          ...(options.event !== undefined && { events: options.event }),
        };
        const added = await addWebhook(all, terms, context.clock(), context.randomBytes);
        if (options.json) printJson(context, { ...webhookRecord(added), secret: added.secret });
        else printLines(context, [added.secret]);
        tell(
          context,
          `Keep this secret: it is not shown again. To remove the webhook: qrs webhooks remove ${added.id}`,
        );
      });
    });
}

const allowedBy = ` (${SETTINGS.webhooksPrivate.name}=true allows others)`;

function addList(webhooks: Command, context: CommandContext): void {
  webhooks
    .command('list')
    .description('list the ids of all webhooks, newest first')
    .option('--json', 'print JSON')
    .action(async (options: { readonly json?: true }) => {
      await withService(context, async (service) => {
        const { items } = await (await service.catalog()).webhooks.list();
        printList<Webhook>(context, items, options, {
          value: ({ id }) => id,
          record: webhookRecord,
          columns: {
            id: ({ id }) => id,
            owner: ({ owner }) => `${owner.kind} ${owner.name}`,
            query_id: (webhook) => (webhook.queryId === undefined ? undefined : idCell(webhook.queryId)),
            state: ({ disabled }) => (disabled === undefined ? 'active' : `disabled: ${disabled.reason}`),
            created_at: ({ createdAt }) => timeCell(createdAt),
            url: ({ url }) => url,
          },
          mayBeCut: ['url', 'state'],
          none: 'no webhooks yet; to add one: qrs webhooks add URL --user NAME',
        });
      });
    });
}

function addDeliveries(webhooks: Command, context: CommandContext): void {
  webhooks
    .command('deliveries')
    .description('list the messages of a webhook, newest first, and what became of them')
    .argument('<id>', 'the id of the webhook, as listed', webhookId)
    .option('--limit <number>', 'how many at most', listLimit, 50)
    .option('--json', 'print JSON')
    .action(async (id: string, options: { readonly limit: number; readonly json?: true }) => {
      await withService(context, async (service) => {
        const { webhooks: all } = await service.catalog();
        if ((await all.find(id)) === undefined) throw new Error(`there is no webhook ${id}`);
        const { items } = await all.listDeliveries(id, { limit: options.limit, offset: 0 });
        printList<Delivery>(context, items, options, {
          value: ({ eventId }) => eventId,
          record: deliveryRecord,
          columns: {
            event_id: ({ eventId }) => eventId,
            type: ({ type }) => type,
            state: ({ state }) => state,
            attempts: ({ attempts }) => attempts,
            last_attempt_at: ({ lastAttemptAt }) => timeCell(lastAttemptAt),
            next_attempt_at: ({ nextAttemptAt }) => timeCell(nextAttemptAt),
            last: ({ lastStatus, lastError }) => lastError ?? lastStatus?.toString(),
          },
          mayBeCut: ['last'],
          none: 'nothing has been told to this webhook yet',
        });
      });
    });
}

function addRemove(webhooks: Command, context: CommandContext): void {
  webhooks
    .command('remove')
    .description('remove a webhook and its messages, those that wait, too')
    .argument('<id>', 'the id of the webhook, as listed', webhookId)
    .action(async (id: string) => {
      await withService(context, async (service) => {
        if (!(await (await service.catalog()).webhooks.remove(id))) throw new Error(`there is no webhook ${id}`);
        printLines(context, [id]);
      });
    });
}

function webhookId(text: string): string {
  if (/^[0-9a-hjkmnp-tv-z]{16}$/.test(text)) return text;
  throw new InvalidArgumentError('The id of a webhook is 16 letters and digits, as `qrs webhooks list` prints it.');
}
