/**
 * The description of the API at `/openapi.json`, and at `/docs` as a page to read and to try requests on. The page is Scalar's API
 * reference, served by us alone: its policy lets it reach no other host. Its script is 4 MB, loaded when first asked for.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import { once } from '../domain/once.ts';
import type { AnswerBody } from '../results/answer.ts';
import { etagOf, matchesEtag } from '../results/respond/cache-policy.ts';
import { type ApiDescription, openApiDocument } from './openapi/document.ts';
import type { Fragment } from './openapi/schema.ts';
import { type SendOptions, sendAnswer } from './send-answer.ts';

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

export function documentationRoutes(server: FastifyInstance, description: ApiDescription, options: SendOptions): void {
  const serve = (url: string, contentType: string, load: () => Promise<Uint8Array>) => {
    const loaded = once(async () => {
      const bytes = await load();
      return { bytes, etag: etagOf(Buffer.from(bytes).toString('latin1')) };
    });
    server.route({
      method: ['GET', 'HEAD'],
      url,
      handler: async (request, reply) => {
        const { bytes, etag } = await loaded();
        const known = matchesEtag(request.headers['if-none-match'], etag);
        const body: AnswerBody = known ? { kind: 'unchanged' } : { kind: 'whole', byteChunks: [bytes] };
        reply.header('content-security-policy', POLICY);
        return await sendAnswer(
          { contentType, headers: { 'cache-control': 'no-cache' }, etag, body },
          request,
          reply,
          options,
        );
      },
    });
  };
  serve('/openapi.json', 'application/json', async () => Buffer.from(JSON.stringify(openApiDocument(description))));
  serve('/docs', 'text/html; charset=utf-8', async () => Buffer.from(PAGE));
  serve(START_PATH, 'text/javascript; charset=utf-8', async () => Buffer.from(startScript(description)));
  serve(SCRIPT_PATH, 'text/javascript; charset=utf-8', loadScalar);
}

function startScript({ keyHeaders }: ApiDescription): string {
  const configuration: Fragment = {
    url: '/openapi.json',
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
  return `Scalar.createApiReference('#reference', ${JSON.stringify(configuration)});\n`;
}

/** The package hands out its script only as a route of a Fastify plugin: a server that listens nowhere is asked for it. */
async function loadScalar(): Promise<Uint8Array> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = Fastify();
  await server.register(scalar, { routePrefix: '/docs', configuration: { url: '/openapi.json' } });
  const { statusCode, rawPayload } = await server.inject('/docs/js/scalar.js');
  await server.close();
  if (statusCode !== 200) throw new Error(`the script of the API reference could not be loaded: status ${statusCode}`);
  return rawPayload;
}
