/** Programs that download: the whole, the rest of what broke off, and several parts at once. */
import { createHash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Attempt, type Found, firstLine, output, type Place } from './attempt.ts';

/** As if the download had broken off here. */
const HAVE_BYTES = 1_234_567;

interface Downloading {
  readonly what: string;
  /** Words after the program's name; the file to write is `long.csv`. */
  readonly args: (url: string) => readonly string[];
  /** The first bytes are there already. */
  readonly resumes?: true;
}

const PROGRAMS: Readonly<Record<string, readonly Downloading[]>> = {
  curl: [
    { what: 'CSV, whole, compressed on the way', args: (url) => ['-fsS', '--compressed', '-o', 'long.csv', url] },
    { what: 'CSV, `-C -` after a break', args: (url) => ['-fsS', '-C', '-', '-o', 'long.csv', url], resumes: true },
  ],
  wget: [
    { what: 'CSV, whole', args: (url) => ['-q', '-O', 'long.csv', url] },
    { what: 'CSV, `-c` after a break', args: (url) => ['-q', '-c', '-O', 'long.csv', url], resumes: true },
  ],
  aria2c: [
    {
      what: 'CSV, four parts at once (`-x 4 -s 4 -k 1M`)',
      args: (url) => ['-q', '-x', '4', '-s', '4', '-k', '1M', '-o', 'long.csv', url],
    },
    { what: 'CSV, `-c` after a break', args: (url) => ['-q', '-c', '-o', 'long.csv', url], resumes: true },
  ],
};

export async function downloadClients(): Promise<readonly Attempt[]> {
  const all: Attempt[] = [];
  for (const [client, attempts] of Object.entries(PROGRAMS)) {
    const version = /\d+\.\d[\w.]*/.exec((await firstLine(client, ['--version'])) ?? '')?.[0];
    const skip = version === undefined ? `${client} is not installed` : undefined;
    for (const { what, args, resumes } of attempts) {
      const run = (place: Place) =>
        download(place, client, args, { version: version ?? '', resumes: resumes ?? false });
      all.push({ client, what, skip, run });
    }
  }
  return all;
}

async function download(
  place: Place,
  program: string,
  args: Downloading['args'],
  { version, resumes }: { readonly version: string; readonly resumes: boolean },
): Promise<Found> {
  const { url, bytes } = place.service.long;
  const file = join(place.folder, 'long.csv');
  if (resumes) {
    if (bytes <= HAVE_BYTES) throw new Error(`the long result has ${bytes} bytes`);
    await using part = await open(file, 'w');
    const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
    await part.write(whole.subarray(0, HAVE_BYTES));
  }
  await output(place, program, args(url));
  return {
    version,
    sha256: createHash('sha256')
      .update(await readFile(file))
      .digest('hex'),
  };
}
