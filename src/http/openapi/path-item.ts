/** An address that answers GET and HEAD: described once, for GET. */
import { type Fragment, refTo } from './schema.ts';

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

/** What HEAD answers: each of GET's responses would say nothing more. */
export const HEADERS_ONLY: Fragment = { description: "The status and the headers of GET's answer, without its body." };

/** The interactive reference leaves HEAD out, as it would say everything twice. */
export function pathItem({ parameters = [], ...get }: Operation, shared: SharedFields = {}): Fragment {
  const { tags, security } = get;
  const head = {
    operationId: get.operationId.replace(/^get/, 'head'),
    tags,
    summary: 'Headers only',
    ...(security !== undefined && { security }),
    'x-scalar-ignore': true,
    responses: { default: refTo('responses', 'HeadersOnly') },
  };
  const ofBoth = [...(shared.parameters ?? []), ...parameters];
  return { ...shared, ...(ofBoth.length > 0 && { parameters: ofBoth }), get, head };
}
