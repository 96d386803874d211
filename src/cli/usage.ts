/**
 * `qrs usage`: what was asked for, by any of day, key, user, team and query. People get a table with labels and totals; scripts get lines
 * of values with tabs between, in the same order.
 */
import { type Command, Option } from 'commander';
import type { Catalog } from '../catalog/catalog.ts';
import type { UsageCounts, UsageFilter, UsagePart, UsageSum } from '../domain/usage.ts';
import { day, ownerOf, principalName, queryId, UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printJson } from './printing.ts';
import { type Cell, formatTable, type TableColumn } from './table.ts';
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
/** Parts whose ids say little: what they are called stands beside them. */
const LABELLED: Partial<Readonly<Record<UsagePart, string>>> = { key: 'key_name', query: 'query_name' };
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
        const catalog = await service.catalog();
        const sums = await catalog.usage.sum(filter, by);
        const labels = await labelsOf(by, catalog);
        if (options.json)
          printJson(
            context,
            sums.map((sum) => recordOf(sum, by, labels)),
          );
        else print(context, sums, by, labels);
      });
    });
}

function print(context: CommandContext, sums: readonly UsageSum[], by: readonly UsagePart[], labels: Labels): void {
  const counts = (sum: UsageCounts) => COUNTS.map((count) => sum[count]);
  if (!context.stdout.isTerminal) {
    const lines = sums.map((sum) => [...by.map((part) => PARTS[part].of(sum) ?? ''), ...counts(sum)].join('\t'));
    context.stdout.write(lines.map((line) => `${line}\n`).join(''));
    return;
  }
  const names = by.flatMap((part) => [{ name: PARTS[part].name }, ...labelColumns(part)]);
  const rows = sums.map((sum): readonly Cell[] => [
    ...by.flatMap((part) => [PARTS[part].of(sum), ...labelColumns(part).map(() => labelOf(part, sum, labels))]),
    ...counts(sum),
  ]);
  const total = ['total', ...names.slice(1).map(() => undefined), ...counts(totalOf(sums))];
  const columns = [...names, ...COUNTS.map((name) => ({ name, align: 'right' as const }))];
  context.stdout.write(formatTable(columns, [...rows, total], context.stdout.columns));
}

function totalOf(sums: readonly UsageSum[]): UsageCounts {
  const sumOf = (count: keyof UsageCounts) => sums.reduce((sum, one) => sum + one[count], 0);
  return { requests: sumOf('requests'), datapoints: sumOf('datapoints'), bytes: sumOf('bytes') };
}

function labelColumns(part: UsagePart): readonly TableColumn[] {
  const name = LABELLED[part];
  return name === undefined ? [] : [{ name, mayBeCut: true }];
}

function labelOf(part: UsagePart, sum: UsageSum, labels: Labels): string | undefined {
  if (part === 'key') return sum.keyId === undefined ? undefined : labels.keys.get(sum.keyId);
  return sum.queryId === undefined ? undefined : labels.queries.get(sum.queryId);
}

/** What keys and queries are called, where that is shown beside their ids. */
interface Labels {
  readonly keys: ReadonlyMap<string, string | undefined>;
  readonly queries: ReadonlyMap<number, string | undefined>;
}

async function labelsOf(by: readonly UsagePart[], { principals, queries }: Catalog): Promise<Labels> {
  const keys = by.includes('key') ? await principals.listKeys() : [];
  const all = by.includes('query') ? await queries.list() : [];
  return {
    keys: new Map(keys.map(({ id, name }) => [id, name])),
    queries: new Map(all.map(({ id, name }) => [id, name])),
  };
}

function recordOf(sum: UsageSum, by: readonly UsagePart[], labels: Labels): object {
  const { requests, datapoints, bytes, queryId: query } = sum;
  const parts = by.flatMap((part) => {
    const label = LABELLED[part];
    const named = label === undefined ? [] : [[label, labelOf(part, sum, labels)] as const];
    return [[PARTS[part].name, part === 'query' ? query : PARTS[part].of(sum)] as const, ...named];
  });
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
