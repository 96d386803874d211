/**
 * The Model Context Protocol's own client for TypeScript, for the test that has it read results: `node scripts/mcp-client.ts` installs it from
 * npm into the user's cache. It brings some ninety packages, which nothing else here needs.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE } from './venv.ts';

const VERSION = '1.32.2';
const HOME = join(CACHE, `mcp-client-${VERSION}`);
const INSTALL_MILLIS = 300_000;

/** The folder that has its modules; undefined when it has not been installed. */
export function findMcpClient(): string | undefined {
  const modules = join(HOME, 'node_modules/@modelcontextprotocol/sdk/dist/esm/client');
  return existsSync(modules) ? modules : undefined;
}

function install(): void {
  if (findMcpClient() !== undefined) return;
  // Under another name until it is complete.
  const making = `${HOME}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    const words = ['install', '--prefix', making, '--no-audit', '--no-fund', `@modelcontextprotocol/sdk@${VERSION}`];
    execFileSync('npm', words, { stdio: ['ignore', 'ignore', 'inherit'], timeout: INSTALL_MILLIS });
    renameSync(making, HOME);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  try {
    install();
    process.stdout.write(`${HOME}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    process.stderr.write(`the test of the client of the Model Context Protocol will be skipped: ${reason}\n`);
    process.exitCode = 1;
  }
}
