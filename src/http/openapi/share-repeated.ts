/**
 * Makes the document small: responses that several operations have alike stand once under `components` and are referred to. The tables
 * that describe operations need not know of it.
 */
import { STATUS_CODES } from '../node-http.ts';
import type { Operation } from './path-item.ts';
import { type Fragment, refTo } from './schema.ts';

interface SharedParts {
  readonly paths: Readonly<Record<string, Fragment>>;
  readonly responses: Readonly<Record<string, Fragment>>;
}

/** @param paths path items, with their responses written out */
export function shareRepeated(paths: Readonly<Record<string, Fragment>>): SharedParts {
  const names = new Map<string, string>();
  const repeated = new Set<string>();
  mapResponses(paths, (response, name) => {
    const text = JSON.stringify(response);
    if (names.has(text)) repeated.add(text);
    else names.set(text, freeName(name, new Set(names.values())));
    return response;
  });
  const responses: Record<string, Fragment> = {};
  const sharing = mapResponses(paths, (response) => {
    const text = JSON.stringify(response);
    const name = names.get(text);
    if (name === undefined || !repeated.has(text)) return response;
    responses[name] = response;
    return refTo('responses', name);
  });
  return { paths: sharing, responses };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name}_${number}`)) number += 1;
  return `${name}_${number}`;
}

/** @param change given the response and a name for it: `BadRequest` */
function mapResponses(
  paths: Readonly<Record<string, Fragment>>,
  change: (response: Fragment, name: string) => Fragment,
): Readonly<Record<string, Fragment>> {
  return mapValues(paths, (item) =>
    mapValues(item, (part) => {
      const operation = part as Partial<Operation> | undefined;
      if (operation?.responses === undefined) return part;
      const responses = mapValues(operation.responses, (response, status) =>
        response.$ref === undefined ? change(response, nameOf(status)) : response,
      );
      return { ...operation, responses };
    }),
  );
}

function nameOf(status: string): string {
  if (status === 'default') return 'Failure';
  return (STATUS_CODES[status] ?? status).replaceAll(/[^A-Za-z]/g, '');
}

function mapValues<T, U>(
  values: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}
