/** One thing tried with one client, and what came of it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { TriedService } from './service.ts';
import { type Alike, COLUMNS, differences } from './table.ts';

export interface Place {
  readonly service: TriedService;
  /** Of this attempt alone, for files. */
  readonly folder: string;
}

export interface Attempt {
  readonly client: string;
  /** What is tried, for the page. */
  readonly what: string;
  /** Why it is not tried here. */
  readonly skip?: string | undefined;
  readonly alike?: readonly Alike[];
  readonly run: (place: Place) => Promise<Found>;
}

/** What a client read: the table, or the bytes of the long result by their SHA-256. */
export type Found =
  | { readonly version: string; readonly rows: readonly (readonly unknown[])[] }
  | { readonly version: string; readonly sha256: string };

export type Outcome =
  | { readonly kind: 'same'; readonly version: string }
  | { readonly kind: 'different'; readonly version: string; readonly problems: readonly string[] }
  | { readonly kind: 'failed'; readonly problem: string }
  | { readonly kind: 'skipped'; readonly why: string };

export async function tryOut(attempt: Attempt, place: Place): Promise<Outcome> {
  if (attempt.skip !== undefined) return { kind: 'skipped', why: attempt.skip };
  try {
    const found = await attempt.run(place);
    const problems = problemsOf(found, attempt, place);
    const { version } = found;
    return problems.length === 0 ? { kind: 'same', version } : { kind: 'different', version, problems };
  } catch (error) {
    const { stderr } = error as { readonly stderr?: string };
    const message = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', problem: (stderr && errorLineOf(stderr)) || message };
  }
}

/** Of what a program said before it gave up: the last line that tells of an error, else the last. */
function errorLineOf(text: string): string | undefined {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1);
}

function problemsOf(found: Found, { alike = [] }: Attempt, { service }: Place): readonly string[] {
  if ('rows' in found) return differences(found.rows, alike);
  return found.sha256 === service.long.sha256 ? [] : [`SHA-256 ${found.sha256}, expected ${service.long.sha256}`];
}

const ATTEMPT_MILLIS = 120_000;
const OUTPUT_MAX = 100_000_000;

/** Runs a program that is told where the service is, and gives what it prints. */
export async function output(
  { service, folder }: Place,
  file: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const told = { QRS: service.url, KEY: service.key, COLUMNS: COLUMNS.map(({ name }) => name).join(',') };
  const env = { ...process.env, ...told, ...more };
  const options = { cwd: folder, env, timeout: ATTEMPT_MILLIS, maxBuffer: OUTPUT_MAX };
  return (await promisify(execFile)(file, [...args], options)).stdout;
}

/** The first line of what a program prints, where it is there and says anything. */
export async function firstLine(file: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(file, [...args], { timeout: ATTEMPT_MILLIS });
    return stdout.trim().split('\n')[0];
  } catch {
    return undefined;
  }
}
