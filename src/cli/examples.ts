/** The examples that the help of each command ends with. A test knows that each command has some. */
import type { Command } from 'commander';

/** Words after `qrs` → lines, each a command line, or what is done before it with a pipe. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  serve: ['qrs serve', 'qrs serve --demo', 'QRS_HOST=0.0.0.0 QRS_PORT=9000 qrs serve'],
  config: ['qrs config', 'qrs config --json'],
  doctor: ['qrs doctor', 'qrs doctor --json'],
  completion: ['eval "$(qrs completion bash)"', 'qrs completion fish > ~/.config/fish/completions/qrs.fish'],
  'users add': ['qrs users add ann'],
  'users list': ['qrs users list'],
  'teams add': ['qrs teams add research --member ann --member bob'],
  'users remove': ['qrs users remove dan'],
  'teams add-member': ['qrs teams add-member research cy'],
  'teams remove-member': ['qrs teams remove-member research cy'],
  'teams list': ['qrs teams list --json'],
  'keys create': [
    "qrs keys create --user ann --name 'her notebook'",
    'qrs keys create --team research --scope write --expires 90d --json',
  ],
  'keys list': ['qrs keys list', 'qrs keys list --json'],
  'keys revoke': ['qrs keys revoke 3q7hk2mv9x4t8wnd'],
  'queries add': [
    "qrs queries add --id 100 --user ann --private --name 'Trades by day'",
    "qrs queries add --id 101 --user ann --sql stakers.sql --parameter floor:number=0 --schedule '0 * * * *'",
  ],
  'queries schedule': ["qrs queries schedule 101 '*/15 * * * *'", 'qrs queries schedule 101 --off'],
  run: ['qrs run 101', 'qrs run 101 --param floor=1.05 --json'],
  'queries list': ['qrs queries list'],
  'queries set': [
    "qrs queries set 100 --name 'Trades by day' --tag dex daily",
    'qrs queries set 100 --team research --public',
    'qrs queries set 102 --archive',
  ],
  'queries remove': ['qrs queries remove 102'],
  publish: [
    'qrs publish trades.parquet --query 100',
    "qrs publish trades.csv --query 100 --types 'amount=uint256,price=decimal(10, 3)'",
    'zcat trades.ndjson.gz | qrs publish - --query 100 --format ndjson --param day=2024-03-05',
    "qrs publish trades.parquet --query 100 --describe 'amount=In the smallest unit of the token' --describe 'price=In USD'",
    'qrs publish trades.parquet --execution 01HR7V4N7VD2Q9D9Z5T2T6W3M1',
  ],
  rows: [
    'qrs rows 100 --limit 20',
    "qrs rows 100 --filter 'amount > 100' --sort 'price desc' --columns price,amount",
    'qrs rows 100 --format csv > result.csv',
    'QRS_URL=http://127.0.0.1:8080 QRS_KEY=$KEY qrs rows 2 --limit 5 --json',
  ],
  'shares create': [
    'qrs shares create 100 --expires 90d',
    "qrs shares create 100 --columns amount --filter 'price > 1' --json",
  ],
  'shares list': ['qrs shares list', 'qrs shares list --query 100 --json'],
  'shares end': ['qrs shares end 3q7hk2mv9x4t8wnd'],
  'executions submit': ['qrs executions submit --query 100 --param day=2024-03-05'],
  'executions start': ['qrs executions start 01HR7V4N7VD2Q9D9Z5T2T6W3M1'],
  'executions fail': [
    "qrs executions fail 01HR7V4N7VD2Q9D9Z5T2T6W3M1 --message 'Table trades does not exist' --line 3 --column 8",
  ],
  'executions cancel': ['qrs executions cancel 01HR7V4N7VD2Q9D9Z5T2T6W3M1'],
  'executions show': ['qrs executions show 01HR7V4N7VD2Q9D9Z5T2T6W3M1'],
  'executions list': ['qrs executions list --query 100 --limit 10', 'qrs executions list --state FAILED --json'],
  'datasets list': ['qrs datasets list', 'qrs datasets list --json'],
  'datasets refresh': ['qrs datasets refresh operator-stats', 'qrs datasets refresh --all'],
  'demo-sources': ['qrs demo-sources ./data/sources --size small'],
  'webhooks add': [
    'qrs webhooks add https://example.com/hooks/qrs --user ann',
    'qrs webhooks add https://example.com/hooks/qrs --team research --query 100 --event execution.failed',
  ],
  'webhooks list': ['qrs webhooks list', 'qrs webhooks list --json'],
  'webhooks deliveries': ['qrs webhooks deliveries 7m4qx9t2hv8wnd3k --limit 5'],
  'webhooks remove': ['qrs webhooks remove 7m4qx9t2hv8wnd3k'],
  usage: ['qrs usage', 'qrs usage --by user,query --from 2024-03-01 --to 2024-03-31', 'qrs usage --by team --json'],
  sweep: ['qrs sweep'],
  open: ['qrs open', 'qrs open 100'],
  help: ['qrs help', 'qrs help keys create'],
  verify: ['qrs verify', 'qrs verify --json'],
  'store copy': ['qrs store copy --to file:new-results', 'qrs store copy --to file:new-results --finish'],
};

/** Puts the examples below the help of every command that has some. */
export function addExamples(command: Command, path = ''): void {
  const lines = EXAMPLES[path];
  if (lines !== undefined) command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`);
  for (const sub of command.commands) addExamples(sub, `${path} ${sub.name()}`.trimStart());
}
