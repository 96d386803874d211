/** An address that answers GET, and HEAD, of which the introduction says all there is to say. */
import type { Fragment } from './schema.ts';

export interface Operation extends Fragment {
  readonly operationId: string;
  readonly summary: string;
  readonly responses: Readonly<Record<string, Fragment>>;
  readonly parameters?: readonly Fragment[];
}

/** Fields of the address. */
export interface SharedFields extends Fragment {
  readonly parameters?: readonly Fragment[];
}

export function pathItem({ parameters = [], ...get }: Operation, shared: SharedFields = {}): Fragment {
  const all = [...(shared.parameters ?? []), ...parameters];
  return { ...shared, ...(all.length > 0 && { parameters: all }), get };
}
