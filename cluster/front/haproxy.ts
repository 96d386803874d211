/** HAProxy before the replicas, configured as packaging/haproxy.cfg is: that file with other addresses. */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/free-port.ts';
import { killProcess } from '../../test/kill-process.ts';
import type { Front } from './front.ts';

const CONFIGURATION = join(import.meta.dirname, '..', '..', 'packaging', 'haproxy.cfg');
const STARTING_MILLIS_MAX = 10_000;

/** Its version; undefined where it is not installed. */
export const HAPROXY = /version (\S+)/.exec(spawnSync('haproxy', ['-v'], { encoding: 'utf8' }).stdout ?? '')?.[1];

export async function startHaproxy(version: string, ports: readonly number[], folder: string): Promise<Front> {
  const port = await freePort();
  const path = join(folder, 'haproxy.cfg');
  writeFileSync(path, haproxyConfiguration(readFileSync(CONFIGURATION, 'utf8'), port, ports));
  const child = spawn('haproxy', ['-db', '-q', '-f', path], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const limit = performance.now() + STARTING_MILLIS_MAX;
  while (
    !(await fetch(`${url}/healthz`).then(
      (answer) => answer.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > limit)
      throw new Error(`HAProxy does not serve what is in ${path}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    url,
    program: `HAProxy ${version}`,
    [Symbol.asyncDispose]: async () => await killProcess(child),
  };
}

/** @param template the packaged file: `bind :8080`, and a `server-template` of which each replica becomes a `server` line */
export function haproxyConfiguration(template: string, port: number, ports: readonly number[]): string {
  const servers = ports.map((to, n) => `server replica-${n + 1} 127.0.0.1:${to} check`).join('\n    ');
  return template
    .replace(/^( *)bind :8080$/m, `$1bind 127.0.0.1:${port}`)
    .replace(/^( *)server-template .*$/gm, `$1${servers}`)
    .replace(/^resolvers [\s\S]*$/m, '');
}
