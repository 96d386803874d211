/**
 * The Model Context Protocol, as far as a server goes that has tools and remembers nothing: one message in, at most one out. The
 * protocol's library for TypeScript has servers, too, with a web framework and a validator of schemas beside ours (decision 56).
 */
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import { ExactNumber } from '../writing/exact-number.ts';
import { isObject } from '../writing/fields.ts';
import { parametersOf, type Tool, type ToolCall, toolView } from './tool.ts';

/** The newest first. What we answer is the same in all. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18'] as const;

/** Codes of JSON-RPC 2.0. */
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

const INSTRUCTIONS =
  'Stored results of queries. Find a query with search_queries, see its columns with describe_query, then read what you need with read_rows: filter, sort and choose columns there, and do not fetch all rows to count or to search them. An answer says how many rows of how many it has; next_offset says where the next begin. Results never change; a later run of a query is another result, and compare_runs says what changed.';

export interface McpServer {
  readonly version: string;
  readonly tools: readonly Tool[];
  /** What a call that failed is told; throws what is a fault of ours. */
  readonly told: (error: unknown) => RequestError;
}

interface Message {
  /** Absent: a notification, which has no answer. */
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * @param body what the client sent, as parsed JSON
 * @returns the answer; undefined where the message asks for none
 * @throws RequestError invalid_body for what is no message
 */
export async function answerMessage(
  body: unknown,
  server: McpServer,
  call: Omit<ToolCall, 'parameters'>,
): Promise<object | undefined> {
  const message = messageOf(body);
  if (message?.id === undefined) return undefined;
  const { id, method, params } = message;
  const result = (value: object) => ({ jsonrpc: '2.0', id, result: value });
  const failure = (code: number, text: string) => ({ jsonrpc: '2.0', id, error: { code, message: text } });
  switch (method) {
    case 'initialize':
      return result(introduction(params, server));
    case 'ping':
      return result({});
    case 'tools/list':
      return result({ tools: server.tools.map(toolView) });
    case 'tools/call': {
      const { name } = params;
      if (typeof name !== 'string') return failure(INVALID_PARAMS, 'name: expected the name of a tool');
      const tool = server.tools.find((known) => known.name === name);
      if (tool === undefined) return failure(INVALID_PARAMS, `${shortened(name, 60)}: no such tool`);
      return result(await callTool(tool, params.arguments, server, call));
    }
    default:
      return failure(METHOD_NOT_FOUND, `${shortened(method, 60)}: no such method`);
  }
}

/** A request or a notification; undefined: an answer, which nobody here has asked for. */
function messageOf(body: unknown): Message | undefined {
  if (!isObject(body) || body.jsonrpc !== '2.0') {
    throw new RequestError('invalid_body', 'expected one message of JSON-RPC 2.0, an object with "jsonrpc": "2.0"');
  }
  const { id, method, params } = body;
  if (method === undefined && ('result' in body || 'error' in body)) return undefined;
  if (typeof method !== 'string') throw new RequestError('invalid_body', 'method: missing, and it must be a text');
  if (id instanceof ExactNumber || !['string', 'number', 'undefined'].includes(typeof id)) {
    throw new RequestError('invalid_body', 'id: expected a text, or a number that a double holds');
  }
  return { id: id as Message['id'], method, params: isObject(params) ? params : {} };
}

function introduction({ protocolVersion }: Message['params'], { version }: McpServer): object {
  return {
    protocolVersion: PROTOCOL_VERSIONS.find((known) => known === protocolVersion) ?? PROTOCOL_VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: 'query-results-service', title: 'Query Results Service', version },
    instructions: INSTRUCTIONS,
  };
}

/** What is wrong with a question is told as a result: a model then asks another one. */
async function callTool(
  tool: Tool,
  sent: unknown,
  { told }: McpServer,
  call: Omit<ToolCall, 'parameters'>,
): Promise<object> {
  try {
    const texts = await tool.call({ ...call, parameters: parametersOf(tool, sent) });
    return { content: texts.map((text) => ({ type: 'text', text })) };
  } catch (error) {
    const { code, message, retryAfterSeconds } = told(error);
    const later = retryAfterSeconds === undefined ? '' : ` (try again in ${retryAfterSeconds} s)`;
    return { content: [{ type: 'text', text: `${code}: ${message}${later}` }], isError: true };
  }
}
