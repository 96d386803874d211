/** `qrs open`: the addresses of the pages for people, one a line, the explorer first; and whether anything answers there. */
import type { Command } from 'commander';
import { TimeLimit } from '../domain/time.ts';
import { loadSettings } from '../settings/load-settings.ts';
import { SETTINGS, type Settings } from '../settings/settings.ts';
import { queryId } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printJson, printLines, tell } from './printing.ts';

/** How long a service may take to say that it is there. */
const ANSWER_MILLIS = 2000;
const EVERY_INTERFACE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

export function addOpenCommand(program: Command, context: CommandContext): void {
  program
    .command('open')
    .description(
      'print the addresses of the pages of the service: the explorer of results, and the documentation to try requests in',
    )
    .argument('[query]', 'print the address of this query in the explorer, by its id', queryId)
    .option('--json', 'print JSON')
    .action(async (query: number | undefined, options: { readonly json?: true }) => {
      const { settings } = loadSettings(context);
      const base = serviceUrl(settings);
      const page = query === undefined ? `${base}/` : `${base}/queries/${query}`;
      if (options.json) printJson(context, { first_page: page, documentation: `${base}/docs` });
      else printLines(context, query === undefined ? [page, `${base}/docs`] : [page]);
      if (!(await isAlive(base, context))) {
        tell(context, `nothing answers at ${base} at this moment${whatToDo(base, settings)}`);
      }
    });
}

/** Where the service is reached, as far as the settings say. @throws Error where only the running service knows its port */
export function serviceUrl({ clientUrl, publicUrl, host, port }: Settings): string {
  const given = clientUrl ?? publicUrl;
  if (given !== undefined) return given.replace(/\/+$/, '');
  if (port === 0)
    throw new Error(`${SETTINGS.port.name} is 0, any free port: the service prints its address when it starts`);
  const name = EVERY_INTERFACE[host] ?? host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

function whatToDo(base: string, { clientUrl }: Settings): string {
  if (clientUrl === undefined) return ': `qrs serve` starts the service of these settings';
  const given = SETTINGS.clientUrl.name;
  return base.endsWith('/v1') ? `: ${given} ends in /v1, which is added to it` : ` (${given})`;
}

async function isAlive(base: string, { signal, sleep }: CommandContext): Promise<boolean> {
  using limit = new TimeLimit(ANSWER_MILLIS, sleep);
  try {
    const within = AbortSignal.any([signal, limit.signal]);
    const response = await fetch(`${base}/healthz`, { redirect: 'error', signal: within });
    await response.body?.cancel();
    return response.ok;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
