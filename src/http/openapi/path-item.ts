/** An address that answers GET and HEAD: described once, for GET. */
import { commonHeaders } from './response-headers.ts';
import type { Fragment } from './schema.ts';

export interface Operation extends Fragment {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, Fragment>>;
  readonly parameters?: readonly Fragment[];
}

/** Fields of both methods. */
export interface SharedFields extends Fragment {
  readonly parameters?: readonly Fragment[];
}

/**
 * HEAD answers as GET does, without the body, so it shares GET's responses. The interactive reference leaves it out, as it would
 * say everything twice.
 */
export function pathItem({ parameters = [], ...operation }: Operation, shared: SharedFields = {}): Fragment {
  const get = { ...operation, responses: withCommonHeaders(operation.responses) };
  const head = {
    ...get,
    operationId: get.operationId.replace(/^get/, 'head'),
    summary: `${get.summary}: headers only`,
    description: 'As GET, without the body.',
    'x-scalar-ignore': true,
  };
  const ofBoth = [...(shared.parameters ?? []), ...parameters];
  return { ...shared, ...(ofBoth.length > 0 && { parameters: ofBoth }), get, head };
}

function withCommonHeaders(responses: Operation['responses']): Operation['responses'] {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      { ...response, headers: { ...commonHeaders(), ...(response.headers as Fragment | undefined) } },
    ]),
  );
}
