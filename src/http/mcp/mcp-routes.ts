/** `/mcp`: the Model Context Protocol over streamable HTTP, without sessions and without streams: each message is a POST, and its answer the body. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Sleep } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { principalOf } from '../authenticate.ts';
import { clientUrlOf } from '../client-url.ts';
import { isFault, toRequestError } from '../errors.ts';
import { goneSignal } from '../gone-signal.ts';
import type { UnsentAnswers } from '../unsent-answers.ts';
import { readJsonBody } from '../writing/json-body.ts';
import { receivedBody } from '../writing/received-body.ts';
import { answerMessage, PROTOCOL_VERSIONS } from './mcp-server.ts';
import { makeTools, type ToolDeps } from './tools.ts';

export interface McpOptions {
  readonly version: string;
  /** Scheme and host of addresses in answers; undefined: as the client addressed the service. */
  readonly publicUrl: string | undefined;
  /** Origins whose pages may ask; `*` is every one. */
  readonly corsOrigins: readonly string[];
  /** The longest pause in a message. */
  readonly stalledMillis: number;
  readonly sleep: Sleep;
  readonly unsent: UnsentAnswers;
}

export const MCP_PATH = '/mcp';

/** A filter has at most some tens of thousands of characters. */
const MESSAGE_BYTES_MAX = 200_000;

export function mcpRoutes(server: FastifyInstance, deps: ToolDeps, options: McpOptions): void {
  const { version, publicUrl, stalledMillis, sleep, unsent } = options;
  const tools = makeTools(deps);
  server.route({
    method: 'POST',
    url: MCP_PATH,
    config: { readsBody: true },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      requireOrigin(request, options);
      requireVersion(request);
      const limits = { bytesMax: MESSAGE_BYTES_MAX, stalledMillis, wholeMillis: stalledMillis, sleep };
      const body = await readJsonBody(
        receivedBody(request.raw, reply.raw, limits, []),
        request.headers['content-encoding'],
      );
      const told = (error: unknown) => {
        const answer = toRequestError(error, request.id);
        if (isFault(answer)) throw error;
        request.stats.errorCode = answer.code;
        request.stats.clearCounts();
        return answer;
      };
      const answer = await answerMessage(
        body,
        { version, tools, told },
        {
          principal,
          stats: request.stats,
          base: `${publicUrl ?? clientUrlOf(request)}/v1`,
          signal: goneSignal(reply),
        },
      );
      reply.header('cache-control', 'no-store');
      if (answer === undefined) return reply.code(202).send();
      const bytes = Buffer.from(JSON.stringify(answer));
      unsent.takeUntilClosed(principal.keyId, [bytes], reply.raw);
      return reply.header('content-type', 'application/json').send(bytes);
    },
  });
}

/** The refusal of all methods but POST. The protocol wants it so: a client then asks for no stream. */
export function onlyPost(): RequestError {
  const problem = 'only POST is answered here: there is no stream of messages, and no session';
  return new RequestError('method_not_allowed', problem, { headers: { allow: 'POST' } });
}

/**
 * A page of another origin may ask only where it may read our other answers. The protocol wants that of a server.
 * @throws RequestError origin_not_allowed
 */
function requireOrigin({ headers: { origin } }: FastifyRequest, { corsOrigins, publicUrl }: McpOptions): void {
  if (origin === undefined || corsOrigins.includes('*') || corsOrigins.includes(origin)) return;
  if (publicUrl !== undefined && new URL(publicUrl).origin === origin) return;
  throw new RequestError('origin_not_allowed', 'pages of this origin may not ask; QRS_CORS_ORIGINS says which may');
}

/** @throws RequestError bad_request */
function requireVersion({ headers }: FastifyRequest): void {
  const version = headers['mcp-protocol-version'];
  if (version === undefined || PROTOCOL_VERSIONS.some((known) => known === version)) return;
  throw new RequestError('bad_request', `MCP-Protocol-Version: expected ${PROTOCOL_VERSIONS.join(' or ')}`);
}
