/** The HTTP service together with its runner of queries, inside the test's own process. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { ulid } from 'ulid';
import { runnerOf } from '../../src/compose/runs.ts';
import { currentLeaseOwner } from '../../src/leases/lease-owner.ts';
import type { RunEvent } from '../../src/runs/run-claimed.ts';
import { runQueued } from '../../src/runs/runner.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { addAnn, openServer } from './http-service.ts';

export interface RunningService {
  readonly commandLine: CommandLine;
  readonly url: string;
  /** A key of ann's that may write. */
  readonly key: string;
  readonly faults: readonly unknown[];
  /** Starts the runner: what waits is run from now on. */
  startRunner(): void;
  /** Resolves at a run's next event of this kind. */
  next(kind: RunEvent['kind']): Promise<void>;
  /** A request with ann's key unless another is given; `body` is sent as JSON. */
  send(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Answer>;
}

export interface SendOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** @param sources files of source tables, by their path in the folder */
export async function startRunningService(
  t: TestContext,
  sources: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const commandLine = await makeCommandLine(t, environment);
  for (const [name, text] of Object.entries(sources)) {
    const path = join(commandLine.dataDir, 'sources', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  const faults: unknown[] = [];
  const { service, server, close } = await openServer(commandLine, environment, (observation) => {
    if (observation.kind === 'fault') faults.push(observation.error);
  });
  const watchers = new Map<string, (() => void)[]>();
  const runner = await runnerOf(service, server.runQueue, {
    owner: currentLeaseOwner(),
    random: Math.random,
    newExecutionId: () => ulid(),
    observe: ({ kind }) => {
      for (const wake of watchers.get(kind)?.splice(0) ?? []) wake();
    },
    onFault: (_what, error) => faults.push(error),
  });
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;
  t.after(async () => {
    stopping.abort(new Error('the test has ended'));
    await loop;
    await close();
  });
  const key = await addAnn(commandLine, await service.catalog(), 'write');
  return {
    commandLine,
    url: server.url,
    key,
    faults,
    startRunner: () => {
      loop ??= runQueued(runner, stopping.signal);
    },
    next: (kind) => new Promise((wake) => watchers.set(kind, [...(watchers.get(kind) ?? []), wake])),
    send: async (method, path, body, options = {}) => {
      const response = await fetch(server.url + path, {
        method,
        headers: {
          'x-service-api-key': options.key ?? key,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...options.headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const { status, headers } = response;
      return { status, headers, body: (await response.json()) as Record<string, unknown> };
    },
  };
}
