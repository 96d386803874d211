/** Commands and replicas of any release of the service, all with the same settings, and what is asked of the replicas. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Replica } from '../../cluster/replica.ts';

interface Command {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A folder in which commands and replicas of any release run with the same settings. */
export class SharedSettings {
  readonly folder = mkdtempSync(join(tmpdir(), 'qrs-side-by-side-'));
  readonly #settings: Readonly<Record<string, string>>;
  readonly #t: TestContext;

  constructor(t: TestContext, settings: (folder: string) => Readonly<Record<string, string>>) {
    this.#t = t;
    const others = Object.entries(process.env).filter(([name]) => !/^(QRS_|NODE_TEST)/.test(name));
    this.#settings = { ...(Object.fromEntries(others) as Record<string, string>), ...settings(this.folder) };
    t.after(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 }));
  }

  tryTo(program: string, args: readonly string[], input = ''): Command {
    const env = { QRS_DATA_DIR: join(this.folder, 'commands'), ...this.#settings };
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
      cwd: this.folder,
      env,
      input,
      encoding: 'utf8',
      timeout: 60_000,
    });
    return { code: status, out: stdout.trimEnd(), err: stderr.trimEnd() };
  }

  run(program: string, args: readonly string[], input = ''): string {
    const { code, out, err } = this.tryTo(program, args, input);
    assert.equal(code, 0, `qrs ${args.join(' ')}: ${err}`);
    return out;
  }

  async serve(name: string, program: string, settings: Readonly<Record<string, string>> = {}): Promise<Replica> {
    const environment = { ...this.#settings, ...settings };
    const replica = await Replica.start({ name, folder: this.folder, environment, program });
    this.#t.after(async () => await replica.kill());
    return replica;
  }
}

export async function ask(replica: Replica, key: string, path: string, init: RequestInit = {}) {
  const headers = { 'x-service-api-key': key, ...(init.headers as Record<string, string> | undefined) };
  const answer = await fetch(`${replica.url}${path}`, { ...init, headers });
  return { status: answer.status, text: await answer.text() };
}

export async function rowsOf(replica: Replica, key: string, path: string): Promise<unknown> {
  const { status, text } = await ask(replica, key, path);
  assert.equal(status, 200, `${replica.name}, ${path}: ${text}`);
  return JSON.parse(text).result?.rows;
}
