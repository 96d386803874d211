/**
 * The description of the API at `/openapi.json`, and at `/docs` as a page to read and to try requests on. The page is Scalar's API
 * reference, served by us alone: its policy lets it reach no other host. Its script is 4 MB, loaded when first asked for.
 */
import { once as nextEvent } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { once } from '../domain/once.ts';
import { llmsText } from './front-page.ts';
import { type ApiDescription, openApiDocument } from './openapi/document.ts';
import type { Fragment } from './openapi/schema.ts';
import { pageEtag, type ServePage } from './serve-page.ts';

/** Styles are set by the script, on elements; everything else comes from us. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SCRIPT_PATH = '/docs/scalar.js';
const START_PATH = '/docs/start.js';
// As this file is: TypeScript in a checkout, JavaScript in a package.
const SCALAR_THREAD = new URL(`./api-reference-thread${extname(import.meta.url)}`, import.meta.url);

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Query Results Service</title>
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. What it shows is at <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="${SCRIPT_PATH}"></script>
<script src="${START_PATH}"></script>
</body>
</html>
`;

/** Ids of a query, and of a run of it, that everybody with a key may read. */
export interface ExampleIds {
  readonly queryId: number;
  readonly executionId: string;
}

/** @param findExample what a page may ask for at first; undefined where there is nothing yet */
export function documentationRoutes(
  serve: ServePage,
  description: ApiDescription,
  findExample: () => Promise<ExampleIds | undefined>,
): void {
  const serveSame = (url: string, contentType: string, load: () => Promise<Uint8Array>) => {
    const loaded = once(async () => {
      const bytes = await load();
      return { contentType, bytes, etag: pageEtag(bytes), policy: POLICY };
    });
    serve(url, loaded);
  };
  serveSame('/llms.txt', 'text/plain; charset=utf-8', async () => Buffer.from(llmsText(description)));
  serveSame('/openapi.json', 'application/json', async () => Buffer.from(JSON.stringify(openApiDocument(description))));
  serveSame('/docs', HTML, async () => Buffer.from(PAGE));
  serve(START_PATH, async () => ({
    contentType: SCRIPT,
    bytes: Buffer.from(startScript(description, await findExample())),
    policy: POLICY,
  }));
  serveSame(SCRIPT_PATH, SCRIPT, loadScalar);
}

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

function startScript({ keyHeaders }: ApiDescription, example: ExampleIds | undefined): string {
  const configuration: Fragment = {
    authentication: { preferredSecurityScheme: keyHeaders[0] },
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    // All that would leave this host, or leads to a service elsewhere.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
  };
  return `fetch('/openapi.json').then((answer) => answer.json()).then((content) => {
  const { queryIdInPath, executionIdInPath } = content.components.parameters;
  const example = ${JSON.stringify(example ?? null)};
  if (example) Object.assign(queryIdInPath, { example: String(example.queryId) });
  if (example) Object.assign(executionIdInPath, { example: example.executionId });
  Scalar.createApiReference('#reference', { ...${JSON.stringify(configuration)}, content });
});
`;
}

/** In a thread, since nobody could be answered meanwhile. */
async function loadScalar(): Promise<Uint8Array> {
  const thread = new Worker(SCALAR_THREAD, { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const [script] = (await nextEvent(thread, 'message')) as [Uint8Array];
  return script;
}
