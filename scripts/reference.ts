/**
 * The parts of docs/reference that are tables in the code: settings, commands, errors, parameters. `node scripts/reference.ts` writes them
 * into the pages, between their marks; a test fails while a page differs from what the code says.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { argv } from 'node:process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import type { CommandContext } from '../src/cli/command-context.ts';
import { EXAMPLES } from '../src/cli/examples.ts';
import { makeProgram } from '../src/cli/run-command.ts';
import { ERRORS, type ErrorCode } from '../src/errors/errors.ts';
import { errorExample } from '../src/http/openapi/error-examples.ts';
import { SHARED_PARAMETERS, type SharedParameter } from '../src/results/request/shared-parameters.ts';
import { SETTINGS } from '../src/settings/settings.ts';

const DIRECTORY = join(import.meta.dirname, '../docs/reference');
const BEGIN = '<!-- written by scripts/reference.ts: begin -->\n';
const END = '<!-- written by scripts/reference.ts: end -->\n';

/** Page → what stands between its marks. */
export const REFERENCES: Readonly<Record<string, () => string>> = {
  'settings.md': settingsTable,
  'command.md': () => commandSections(makeProgram(CONTEXT)),
  'errors.md': errorSections,
  'api.md': parameterTable,
};

export async function readReference(page: string): Promise<{ readonly text: string; readonly written: string }> {
  const text = await readFile(join(DIRECTORY, page), 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/reference/${page} has lost its marks "${BEGIN.trim()}"`);
  return { text, written: text.slice(begin + BEGIN.length, end) };
}

function settingsTable(): string {
  const rows = Object.values(SETTINGS).map(
    (setting) =>
      `| \`${setting.name}\` | ${setting.default === '' ? '' : `\`${setting.default}\``} | ${setting.about} |`,
  );
  return ['| name | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

function errorSections(): string {
  return Object.entries(ERRORS)
    .map(([code, { status, when }]) => {
      const { parameters, body } = errorExample(code as ErrorCode);
      const asked = parameters === undefined ? '' : `?${parameters}\n`;
      return `### \`${code}\`: ${status}\n\n${when}\n\n\`\`\`\n${asked}${JSON.stringify(body)}\n\`\`\`\n`;
    })
    .join('\n');
}

function parameterTable(): string {
  const rows = Object.values<SharedParameter>(SHARED_PARAMETERS).map((parameter) => {
    const { name, about } = parameter;
    const example = parameter.kind === 'boolean' ? 'true' : String(parameter.example);
    return `| \`${name}\` | ${valuesOf(parameter)} | ${cell(about)} | \`${cell(example)}\` |`;
  });
  return ['| name | value | meaning | example |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function valuesOf(parameter: SharedParameter): string {
  switch (parameter.kind) {
    case 'boolean':
      return '`true`, `false`, `1`, `0`';
    case 'choice':
      return parameter.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'integer':
      return `whole number, at least ${parameter.min}`;
    case 'text':
      return 'text';
    default:
      return parameter satisfies never;
  }
}

function commandSections(command: Command, before = ''): string {
  const name = before === '' ? command.name() : `${before} ${command.name()}`;
  const subcommands = command.commands;
  if (subcommands.length > 0) return subcommands.map((sub) => commandSections(sub, name)).join('\n');
  const words = command.registeredArguments.map((a) => (a.required ? ` <${a.name()}>` : ` [${a.name()}]`)).join('');
  const rows = [
    ...command.registeredArguments.map((a) => `| \`<${a.name()}>\` | ${cell(a.description)} |`),
    ...command.options.map(
      (o) =>
        `| \`${cell(o.flags)}\` | ${cell(o.description)}${o.mandatory ? ' (required)' : ''}${defaultOf(o.defaultValue)} |`,
    ),
  ];
  const table = rows.length === 0 ? [] : ['', '| word | meaning |', '|---|---|', ...rows];
  const lines = EXAMPLES[name.replace(/^qrs /, '')] ?? [];
  const examples = lines.length === 0 ? [] : ['', '```sh', ...lines, '```'];
  return [`## \`${name}${words}\``, '', sentence(command.description()), ...table, ...examples, ''].join('\n');
}

function defaultOf(value: unknown): string {
  return value === undefined ? '' : ` (default \`${value}\`)`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}

/** A context that is enough to ask the commands for their names. Nothing in it is used. */
const CONTEXT: CommandContext = {
  version: '',
  hostName: '',
  stdout: { isTerminal: false, write: () => undefined },
  stderr: { isTerminal: false, write: () => undefined },
  stdin: () => Readable.from([]),
  environment: {},
  readFile: () => undefined,
  clock: () => 0,
  sleep: async () => undefined,
  randomBytes: (length) => new Uint8Array(length),
  random: () => 0,
  monotonic: () => 0,
  threadCpuMicros: () => 0,
  startTimer: () => ({ refresh: () => undefined, close: () => undefined }),
  owner: '',
  newExecutionId: () => '',
  outliveReaders: () => undefined,
  allowGrace: () => undefined,
  priority: { eventLoopFirst: () => undefined, serviceFirst: () => undefined },
  workers: { supervisor: async () => undefined, forkWith: async () => Promise.reject(new Error('no workers here')) },
  signal: new AbortController().signal,
};

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const [page, reference] of Object.entries(REFERENCES)) {
    const { text, written } = await readReference(page);
    await writeFile(
      join(DIRECTORY, page),
      text.replace(BEGIN + written + END, () => BEGIN + reference() + END),
    );
  }
}
