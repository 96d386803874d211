/** Serves what the service itself brings: pages, scripts, descriptions. Each has an ETag and a policy of what it may load. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import type { AnswerBody } from '../results/answer.ts';
import { etagOf, matchesEtag } from '../results/respond/cache-policy.ts';
import { type SendOptions, sendAnswer } from './send-answer.ts';

export interface Page {
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly etag?: string;
  /** `Content-Security-Policy`, where it is not that of every answer. */
  readonly policy?: string;
  /** `no-cache` when left out: asked for again each time, and answered by 304. */
  readonly cacheControl?: string;
}

export type ServePage = (url: string, pageFor: (request: FastifyRequest) => Promise<Page>) => void;

export function pageServer(server: FastifyInstance, options: SendOptions): ServePage {
  return (url, pageFor) => {
    const handler: RouteHandlerMethod = async (request, reply) =>
      await sendPage(await pageFor(request), request, reply, options);
    server.route({ method: ['GET', 'HEAD'], url, handler });
  };
}

export function pageEtag(bytes: Uint8Array): string {
  return etagOf(Buffer.from(bytes).toString('latin1'));
}

async function sendPage(page: Page, request: FastifyRequest, reply: FastifyReply, options: SendOptions) {
  const { bytes, contentType, policy, cacheControl = 'no-cache', etag = pageEtag(bytes) } = page;
  const known = matchesEtag(request.headers['if-none-match'], etag);
  const body: AnswerBody = known ? { kind: 'unchanged' } : { kind: 'whole', byteChunks: [bytes] };
  if (policy !== undefined) reply.header('content-security-policy', policy);
  return await sendAnswer(
    { contentType, headers: { 'cache-control': cacheControl }, etag, body },
    request,
    reply,
    options,
  );
}
