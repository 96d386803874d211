/**
 * `qrs usage`: what was asked for, told apart by any of day, key, user, team and query. A table for people; for scripts lines of
 * values with tabs between, in the same order.
 */
import { type Command, Option } from 'commander';
import type { UsageFilter, UsagePart, UsageSum } from '../domain/usage.ts';
import { day, ownerOf, principalName, queryId, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printJson } from './printing.ts';
import { type Cell, formatTable } from './table.ts';
import { withService } from './with-service.ts';

interface UsageOptions {
  readonly by: readonly UsagePart[];
  readonly from?: string;
  readonly to?: string;
  readonly key?: string;
  readonly user?: string;
  readonly team?: string;
  readonly query?: number;
  readonly json?: true;
}

/** What each part is called where it is printed, and where it stands. */
const PARTS: Readonly<Record<UsagePart, { readonly name: string; readonly of: (sum: UsageSum) => Cell }>> = {
  day: { name: 'day', of: (sum) => sum.day },
  key: { name: 'key_id', of: (sum) => sum.keyId },
  user: { name: 'user', of: (sum) => sum.user },
  team: { name: 'team', of: (sum) => sum.team },
  query: { name: 'query_id', of: (sum) => (sum.queryId === undefined ? undefined : String(sum.queryId)) },
};
const COUNTS = ['requests', 'datapoints', 'bytes'] as const;

export function addUsageCommand(program: Command, context: CommandContext): void {
  program
    .command('usage')
    .description('print who asked for how much: requests, datapoints, and bytes as they were sent')
    .addOption(
      new Option('--by <parts>', 'what to count by: day, key, user, team, query, separated by commas')
        .argParser(usageParts)
        .default(['day', 'key'], 'day,key'),
    )
    .option('--from <day>', 'the first day (UTC), such as 2024-03-05', day)
    .option('--to <day>', 'the last day (UTC)', day)
    .option('--key <id>', 'only this key')
    .option('--user <name>', 'only keys of this user', principalName)
    .option('--team <name>', 'only keys of this team', principalName)
    .option('--query <number>', 'only this query', queryId)
    .option('--json', 'print JSON')
    .action(async (options: UsageOptions) => {
      const { by } = options;
      const filter = filterOf(options);
      await withService(context, async (service) => {
        const sums = await (await service.catalog()).usage.sum(filter, by);
        if (options.json)
          printJson(
            context,
            sums.map((sum) => recordOf(sum, by)),
          );
        else print(context, sums, by);
      });
    });
}

function print(context: CommandContext, sums: readonly UsageSum[], by: readonly UsagePart[]): void {
  const rows = sums.map((sum): readonly Cell[] => [
    ...by.map((part) => PARTS[part].of(sum)),
    ...COUNTS.map((count) => sum[count]),
  ]);
  if (context.stdout.isTerminal) {
    context.stdout.write(formatTable([...by.map((part) => PARTS[part].name), ...COUNTS], rows));
  } else {
    context.stdout.write(rows.map((row) => `${row.map((cell) => cell ?? '').join('\t')}\n`).join(''));
  }
}

function recordOf(sum: UsageSum, by: readonly UsagePart[]): object {
  const { requests, datapoints, bytes, queryId: query } = sum;
  const parts = by.map((part) => [PARTS[part].name, part === 'query' ? query : PARTS[part].of(sum)] as const);
  return { ...Object.fromEntries(parts), requests, datapoints, bytes };
}

function filterOf({ from, to, key, user, team, query }: UsageOptions): UsageFilter {
  if (from !== undefined && to !== undefined && from > to) throw new UsageError('--from is after --to');
  const owner =
    user === undefined && team === undefined ? undefined : ownerOf({ ...(user && { user }), ...(team && { team }) });
  return {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    ...(key !== undefined && { keyId: key }),
    ...(owner !== undefined && { owner }),
    ...(query !== undefined && { queryId: query }),
  };
}

function usageParts(text: string): readonly UsagePart[] {
  const parts = text.split(',').map((one) => one.trim());
  const known = parts.filter((part): part is UsagePart => Object.hasOwn(PARTS, part));
  if (known.length < parts.length)
    throw new UsageError('--by takes day, key, user, team and query, separated by commas');
  if (known.includes('user') && known.includes('team'))
    throw new UsageError('--by takes either user or team: no key is of both');
  return [...new Set(known)];
}
