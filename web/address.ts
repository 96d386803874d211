/** The page's state is in its address: who opens the same address sees the same. */
import { computed, signal } from '@preact/signals';

const current = signal(location.pathname + location.search);
addEventListener('popstate', () => {
  current.value = location.pathname + location.search;
});

export const path = computed(() => current.value.split('?', 1)[0] ?? '/');
const parameters = computed(() => new URLSearchParams(current.value.slice(path.value.length + 1)));

/** A parameter of the address; '' if absent. */
export function parameter(name: string): string {
  return parameters.value.get(name) ?? '';
}

/** A part of the path without its percent-encoding; as it is where that is broken, for the service to refuse. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export type Changes = Readonly<Record<string, string | undefined>>;

/** The same page with other parameters; '' and undefined remove one. */
export function changed(changes: Changes): string {
  const all = new URLSearchParams(parameters.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') all.delete(name);
    else all.set(name, value);
  }
  const text = all.toString();
  return text === '' ? path.value : `${path.value}?${text}`;
}

/** Opens an address as a new entry of the browser's history. */
export function open(address: string): void {
  if (address === current.value) return;
  history.pushState(null, '', address);
  current.value = address;
}

/** Changes parameters. @param how `replace` for what needs no entry in the history, such as scrolling */
export function change(changes: Changes, how: 'push' | 'replace' = 'push'): void {
  const address = changed(changes);
  if (how === 'push') {
    open(address);
    return;
  }
  history.replaceState(null, '', address);
  current.value = address;
}

/** Follows links within the explorer without loading the page again. */
export function followLinks(event: MouseEvent): void {
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!/^\/($|queries\/|executions\/|usage$)/.test(link.pathname)) return;
  event.preventDefault();
  open(link.pathname + link.search);
  scrollTo(0, 0);
}
