/**
 * First contact, for whoever only has the address: what `/` says to a program, and in a browser that runs no scripts; and `/llms.txt` for
 * language models that are to write requests. None of it needs a key.
 */
import Negotiator from 'negotiator';
import { ACCEPT_CHARACTERS_MAX } from '../results/request/accept-format.ts';
import { FORMATS } from '../results/request/format.ts';
import { SHARED_PARAMETERS } from '../results/request/shared-parameters.ts';
import { FILTERS_ABOUT } from './openapi/about.ts';
import type { ApiDescription } from './openapi/document.ts';

const WHAT =
  'Stores the result of each query execution once and serves it from then on: filtered, sorted, paged or sampled.';
const KEY = 'An operator of the service makes a key: `qrs keys create --user NAME`.';

/** Whether an HTML page is liked more than JSON: programs mostly take anything. */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept !== undefined && accept.length > ACCEPT_CHARACTERS_MAX) return false;
  const [best] = new Negotiator({ headers: { accept: accept ?? '*/*' } }).mediaTypes(['application/json', 'text/html']);
  return best === 'text/html';
}

/** HTML for a person whose browser runs no scripts. */
export function frontText({ version, keyHeaders }: ApiDescription): string {
  return `<h1>Query Results Service</h1>
<p>${WHAT}</p>
<ul>
<li><a href="/docs">Try requests</a>, and read what there is: every address, parameter and error.</li>
<li><a href="/openapi.json">The same for programs</a> (OpenAPI), and <a href="/llms.txt">for language models</a>.</li>
<li><a href="/readyz">Whether the service can answer</a>.</li>
</ul>
<h2>A first request</h2>
<p>Every request carries a key. ${KEY.replaceAll(/`([^`]+)`/g, '<code>$1</code>')}</p>
<pre>curl -H '${keyHeaders[0]}: YOUR KEY' 'http://THIS ADDRESS/v1/query/NUMBER/results?limit=10'</pre>
<p>Version ${version}</p>`;
}

export function frontDocument({ version, keyHeaders }: ApiDescription): object {
  return {
    service: 'query-results-service',
    version,
    about: WHAT,
    documentation: '/docs',
    openapi: '/openapi.json',
    llms: '/llms.txt',
    key: { headers: keyHeaders, query_parameter: 'api_key', about: KEY },
  };
}

/** As https://llmstxt.org says: a title, what it is, and then what one needs to know. */
export function llmsText({ keyHeaders, datasets }: ApiDescription): string {
  const parameters = Object.values(SHARED_PARAMETERS).map(({ name, about }) => `- \`${name}\`: ${about}`);
  return `# Query Results Service

> ${WHAT}

Every request below /v1 carries an API key in the header \`${keyHeaders[0]}\`. ${KEY}

## Addresses

- GET /v1/query/{query_id}/results: the rows of the query's latest run
- GET /v1/execution/{execution_id}/results: the rows of one run
- GET /v1/execution/{execution_id}/status: how far a run is
${datasets.map(({ path, title }) => `- GET ${path}: ${title}`).join('\n')}
- [OpenAPI](/openapi.json): everything else, with errors
- POST /mcp: the same for the Model Context Protocol (streamable HTTP), with the key in the same header

Formats: ${FORMATS.join(', ')}, by \`format\` or \`Accept\`. JSON has the rows in \`result.rows\`, their columns in \`result.metadata\`.

## Parameters

${parameters.join('\n')}

## Filters

${FILTERS_ABOUT}

## Rules

- Follow \`next_uri\` (JSON) or the header \`Link\` until there is none: a page may end before its \`limit\`.
- Give \`columns\`: fewer columns cost fewer datapoints. \`limit=0\` gives the columns and totals alone.
- Every error says what is wrong and what to write instead. Try again only at 429, 503 and 504, after \`Retry-After\` seconds.
`;
}
