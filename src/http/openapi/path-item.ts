/** An address that answers GET and HEAD: described once, for GET. */
import { commonHeaders } from './response-headers.ts';
import type { Fragment } from './schema.ts';

export interface Operation extends Fragment {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, Fragment>>;
}

/**
 * HEAD answers as GET does, without the body. The interactive reference leaves it out, as it would say everything twice.
 * @param shared fields of both
 */
export function pathItem(operation: Operation, shared: Fragment = {}): Fragment {
  const get = { ...operation, responses: withCommonHeaders(operation.responses) };
  const head = {
    ...get,
    operationId: get.operationId.replace(/^get/, 'head'),
    summary: `${get.summary}: headers only`,
    responses: Object.fromEntries(
      Object.entries(get.responses).map(([status, { content: _, ...response }]) => [status, response]),
    ),
    'x-scalar-ignore': true,
  };
  return { ...shared, get, head };
}

function withCommonHeaders(
  responses: Operation['responses'],
): Readonly<Record<string, Fragment & { readonly content?: unknown }>> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, headers: { ...commonHeaders(), ...(response.headers as Fragment | undefined) } },
    ]),
  );
}
