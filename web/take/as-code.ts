/** Writes the request for what is on the screen as code. The code contains no key; it reads `QRS_KEY`. */

export interface CodeRequest {
  /** Scheme and host of the service. */
  readonly base: string;
  /** `/v1/query/7/results` */
  readonly path: string;
  readonly keyHeader: string;
  /** Only those with a value. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

export const LANGUAGES = ['curl', 'Python', 'TypeScript', 'R', 'Spreadsheet', 'DuckDB'] as const;
export type Language = (typeof LANGUAGES)[number];

export function asCode(language: Language, request: CodeRequest): string {
  return WRITERS[language](request);
}

const WRITERS: Readonly<Record<Language, (request: CodeRequest) => string>> = {
  curl: ({ keyHeader, parameters, ...place }) =>
    [
      `curl -G ${shell(addressOf(place))}`,
      `  -H "${keyHeader}: $QRS_KEY"`,
      ...parameters.map(([name, value]) => `  --data-urlencode ${shell(`${name}=${value}`)}`),
    ].join(' \\\n'),
  Python: ({ keyHeader, parameters, ...place }) => `import os, requests

url = ${json(addressOf(place))}
params = ${object(parameters, ': ', '    ')}
rows = []
while url:
    answer = requests.get(url, params=params, headers={${json(keyHeader)}: os.environ["QRS_KEY"]})
    answer.raise_for_status()
    page = answer.json()
    rows += page["result"]["rows"]
    url, params = page.get("next_uri"), None
`,
  TypeScript: ({ keyHeader, parameters, ...place }) => `const headers = { ${json(keyHeader)}: process.env.QRS_KEY! };
const parameters = new URLSearchParams(${object([...parameters, ['bigints', 'string']], ': ', '  ')});
const rows: Record<string, unknown>[] = [];
let url: string | undefined = \`${addressOf(place)}?\${parameters}\`;
while (url !== undefined) {
  const answer: Response = await fetch(url, { headers });
  if (!answer.ok) throw new Error(await answer.text());
  const page = (await answer.json()) as { result: { rows: typeof rows }; next_uri?: string };
  for (const row of page.result.rows) rows.push(row);
  url = page.next_uri;
}
`,
  R: ({ keyHeader, ...place }) => `address <- ${json(fileAddress('csv', place))}
rows <- read.csv(
  url(address, headers = c(${json(keyHeader)} = Sys.getenv("QRS_KEY"))),
  colClasses = "character", na.strings = "", check.names = FALSE
)
`,
  Spreadsheet: (place) => `=IMPORTDATA("${fileAddress('csv', place).replaceAll('"', '""')}&api_key=YOUR_KEY")`,
  DuckDB: ({
    keyHeader,
    ...place
  }) => `CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {${sql(keyHeader)}: getenv('QRS_KEY')});
SELECT * FROM read_parquet(${sql(fileAddress('parquet', place))});
`,
};

function addressOf({ base, path }: Pick<CodeRequest, 'base' | 'path'>): string {
  return base + path;
}

/** A file has all rows, whatever the limit of one answer. */
function fileAddress(format: 'csv' | 'parquet', { base, path, parameters }: Omit<CodeRequest, 'keyHeader'>): string {
  const more = [
    ['format', format],
    ['ignore_max_datapoints_per_request', 'true'],
  ] as const;
  const all = [...parameters, ...more].map(([name, value]): [string, string] => [name, value]);
  // An asterisk may stand in an address as it is, but DuckDB takes it for a pattern, and refuses it.
  return `${base}${path}?${String(new URLSearchParams(all)).replaceAll('*', '%2A')}`;
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A string literal that JSON, Python, TypeScript and R read alike. */
function json(text: string): string {
  return JSON.stringify(text);
}

function sql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function object(members: CodeRequest['parameters'], colon: string, indent: string): string {
  if (members.length === 0) return '{}';
  return `{\n${members.map(([name, value]) => `${indent}${json(name)}${colon}${json(value)},\n`).join('')}}`;
}
