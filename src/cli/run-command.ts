/**
 * The command `qrs`: which commands there are, and how each ends. 0: done. 1: failed, with one line that says why.
 * 2: not a command, or not with these words (contract §7).
 */
import { Command, CommanderError } from 'commander';
import { UsageError } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { addCompletionCommand } from './completion.ts';
import { addConfigCommand } from './config.ts';
import { addDatasetsCommand } from './datasets.ts';
import { addDemoSourcesCommand } from './demo-sources.ts';
import { addDoctorCommand } from './doctor.ts';
import { addExamples } from './examples.ts';
import { addExecutionsCommand } from './executions.ts';
import { addHelpCommand } from './help.ts';
import { addKeysCommand } from './keys.ts';
import { addOpenCommand } from './open.ts';
import { tell } from './printing.ts';
import { addPublishCommand } from './publish.ts';
import { addQueriesCommand } from './queries.ts';
import { addRowsCommand } from './rows.ts';
import { addRunCommand } from './run.ts';
import { addServeCommand } from './serve.ts';
import { addSharesCommand } from './shares.ts';
import { addStoreCommand } from './store.ts';
import { addSweepCommand } from './sweep.ts';
import { addTeamsCommand } from './teams.ts';
import { addUsageCommand } from './usage.ts';
import { addUsersCommand } from './users.ts';
import { addVerifyCommand } from './verify.ts';
import { addWebhooksCommand } from './webhooks.ts';

export type ExitCode = 0 | 1 | 2;

/** Runs one command line, without the name of the program. Never throws. */
export async function runCommand(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  try {
    await makeProgram(context).parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    // Help that was asked for has 0; help shown because a word was missing, and every mistake, another number.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    tell(context, `error: ${oneLine(whyEnded(error, context.signal))}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Every command with its options, for the line it is given and for the page that documents it. */
export function makeProgram(context: CommandContext): Command {
  const program = new Command('qrs')
    .description('Query Results Service: stores the results of query executions and serves them over HTTP.')
    .version(context.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
    })
    .showSuggestionAfterError();
  addServeCommand(program, context);
  addConfigCommand(program, context);
  addDoctorCommand(program, context);
  addUsersCommand(program, context);
  addTeamsCommand(program, context);
  addKeysCommand(program, context);
  addQueriesCommand(program, context);
  addRunCommand(program, context);
  addPublishCommand(program, context);
  addRowsCommand(program, context);
  addSharesCommand(program, context);
  addExecutionsCommand(program, context);
  addDatasetsCommand(program, context);
  addDemoSourcesCommand(program, context);
  addWebhooksCommand(program, context);
  addUsageCommand(program, context);
  addSweepCommand(program, context);
  addVerifyCommand(program, context);
  addStoreCommand(program, context);
  addOpenCommand(program, context);
  addCompletionCommand(program, context);
  addHelpCommand(program);
  addExamples(program);
  return program;
}

/** A wait that is interrupted says no more than that; the signal says by what. */
function whyEnded(error: unknown, { aborted, reason }: AbortSignal): unknown {
  return aborted && error instanceof Error && error.name === 'AbortError' ? reason : error;
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.trim().replace(/\s*[\r\n]+\s*/g, ' ');
}
