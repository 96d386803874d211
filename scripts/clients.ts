/**
 * Reads a table with every client that can be had here, and compares cell by cell: `npm run clients`. Packages come from their registries
 * into folders outside of the checkout; what is not there is skipped, with the reason. `--installed`: only what needs no installing.
 * `--write`: what came of it into docs/reference/clients.md. Ends with 1 if a client read anything else than was stored.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Attempt, type Outcome, tryOut } from './clients/attempt.ts';
import { downloadClients } from './clients/download-clients.ts';
import { nodeClients } from './clients/node-clients.ts';
import { otherClients } from './clients/other-clients.ts';
import { pythonClients } from './clients/python-clients.ts';
import { startService } from './clients/service.ts';

const PAGE = join(import.meta.dirname, '../docs/reference/clients.md');
const BEGIN = '<!-- written by npm run clients: begin -->\n';
const END = '<!-- written by npm run clients: end -->\n';

interface Tried extends Attempt {
  readonly outcome: Outcome;
}

async function tryAll(attempts: readonly Attempt[]): Promise<readonly Tried[]> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-clients-'));
  try {
    await using service = await startService(join(folder, 'service'));
    const tried: Tried[] = [];
    for (const [i, attempt] of attempts.entries()) {
      const place = { service, folder: join(folder, String(i)) };
      await mkdir(place.folder);
      const outcome = await tryOut(attempt, place);
      process.stdout.write(`${lineOf(attempt, outcome)}\n`);
      tried.push({ ...attempt, outcome });
    }
    return tried;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function lineOf({ client, what }: Attempt, outcome: Outcome): string {
  const name = `${client}: ${what}`;
  switch (outcome.kind) {
    case 'same':
      return `same      ${name} (${outcome.version})`;
    case 'different':
      return `DIFFERENT ${name} (${outcome.version})\n${outcome.problems.map((problem) => `            ${problem}`).join('\n')}`;
    case 'failed':
      return `FAILED    ${name}: ${outcome.problem}`;
    case 'skipped':
      return `skipped   ${name}: ${outcome.why}`;
    default:
      return outcome satisfies never;
  }
}

function tableOf(tried: readonly Tried[]): string {
  const rows = tried.map(({ client, what, alike = [], outcome }) => {
    const version = 'version' in outcome ? outcome.version : '';
    return `| ${client} | ${version} | ${what} | ${wordOf(outcome)}${alike.length > 0 && outcome.kind === 'same' ? `; ${alike.join(', ')}` : ''} |`;
  });
  return ['| client | version | what was tried | cells |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function wordOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'same':
      return 'all the same';
    case 'different':
      return `**different**: ${outcome.problems.length}`;
    case 'failed':
      return '**failed**';
    case 'skipped':
      return `not tried: ${outcome.why}`;
    default:
      return outcome satisfies never;
  }
}

async function writePage(tried: readonly Tried[]): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${PAGE} has lost its marks "${BEGIN.trim()}"`);
  await writeFile(PAGE, page.slice(0, begin + BEGIN.length) + tableOf(tried) + page.slice(end));
}

const { values } = parseArgs({ options: { installed: { type: 'boolean' }, write: { type: 'boolean' } } });
const installed = values.installed ?? false;
const attempts = [
  ...(await pythonClients(installed)),
  ...nodeClients(installed),
  ...(await downloadClients()),
  ...(await otherClients()),
];
const tried = await tryAll(attempts);
if (values.write) await writePage(tried);
const count = (...kinds: readonly Outcome['kind'][]) =>
  tried.filter(({ outcome }) => kinds.includes(outcome.kind)).length;
process.stdout.write(`${count('same')} passed, ${count('different', 'failed')} failed, ${count('skipped')} skipped\n`);
process.exitCode = count('different', 'failed') > 0 ? 1 : 0;
