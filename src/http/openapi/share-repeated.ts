/**
 * Makes the document small: responses and examples that several operations have alike stand once under `components` and are
 * referred to. The tables that describe operations need not know of it.
 */
import { STATUS_CODES } from 'node:http';
import type { Operation } from './path-item.ts';
import { type Fragment, refTo } from './schema.ts';

interface SharedParts {
  readonly paths: Readonly<Record<string, Fragment>>;
  readonly responses: Readonly<Record<string, Fragment>>;
  readonly examples: Readonly<Record<string, Fragment>>;
}

/** @param paths path items, with their responses written out */
export function shareRepeated(paths: Readonly<Record<string, Fragment>>): SharedParts {
  const responses = new Shared('responses');
  mapResponses(paths, (response, name) => responses.note(name, response));
  const sharing = mapResponses(paths, (response) => responses.replace(response));
  // Examples after responses: one that stands in a shared response alone needs no name.
  const examples = new Shared('examples');
  const everyResponse = (change: (response: Fragment) => Fragment) => ({
    paths: mapResponses(sharing, change),
    responses: mapValues(responses.parts, change),
  });
  everyResponse((response) => mapExamples(response, (name, one) => examples.note(name, one)));
  const written = everyResponse((response) => mapExamples(response, (_, one) => examples.replace(one)));
  return { ...written, examples: examples.parts };
}

/** Fragments by their text, each named as where it stood first. */
class Shared {
  readonly #section: 'responses' | 'examples';
  readonly #names = new Map<string, string>();
  readonly #repeated = new Set<string>();
  readonly #parts = new Map<string, Fragment>();

  constructor(section: 'responses' | 'examples') {
    this.#section = section;
  }

  get parts(): Readonly<Record<string, Fragment>> {
    return Object.fromEntries(this.#parts);
  }

  note(name: string, fragment: Fragment): Fragment {
    const text = JSON.stringify(fragment);
    if (this.#names.has(text)) this.#repeated.add(text);
    else this.#names.set(text, this.#freeName(name));
    return fragment;
  }

  replace(fragment: Fragment): Fragment {
    const text = JSON.stringify(fragment);
    const name = this.#names.get(text);
    if (name === undefined || !this.#repeated.has(text)) return fragment;
    this.#parts.set(name, fragment);
    return refTo(this.#section, name);
  }

  #freeName(name: string): string {
    const taken = new Set(this.#names.values());
    if (!taken.has(name)) return name;
    let number = 2;
    while (taken.has(`${name}_${number}`)) number += 1;
    return `${name}_${number}`;
  }
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
  if (status === '4XX') return 'Refused';
  if (status === '5XX') return 'Unavailable';
  return (STATUS_CODES[status] ?? 'Failure').replaceAll(/[^A-Za-z]/g, '');
}

/** @param change given the example's name, such as an error's code, and the example */
function mapExamples(response: Fragment, change: (name: string, example: Fragment) => Fragment): Fragment {
  const { content } = response as { readonly content?: Readonly<Record<string, Fragment>> };
  if (content === undefined) return response;
  const changed = mapValues(content, (media) => {
    const { examples } = media as { readonly examples?: Readonly<Record<string, Fragment>> };
    if (examples === undefined) return media;
    return { ...media, examples: mapValues(examples, (example, name) => change(name, example)) };
  });
  return { ...response, content: changed };
}

function mapValues<T, U>(
  values: Readonly<Record<string, T>>,
  change: (value: T, name: string) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}
