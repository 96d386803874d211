/**
 * What the service wrote about itself into the page, and the visitor's key. The key is kept in the tab's session storage, so it is gone
 * when the tab is closed. It is never in an address, except in the fragment of the one that `qrs serve --demo` prints: browsers do not
 * send fragments.
 */
import { signal } from '@preact/signals';

interface Dataset {
  readonly queryId: number;
  readonly name: string;
  readonly title: string;
  readonly path: string;
  readonly schedule: string;
}

export interface Settings {
  readonly version: string;
  readonly keyHeader: string;
  readonly publicKey?: string;
  readonly datasets: readonly Dataset[];
}

const STORED = 'qrs-key';
/** Undefined where the browser forbids it, as with all cookies blocked: then the key is kept in the page alone, until it is loaded again. */
const storage = storageOfTab();

export const settings: Settings = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=qrs]')?.content ?? '{}',
);

/** Undefined: the visitor has none. */
export const key = signal<string | undefined>(keyAtStart());
/** Whether the service refused the last key. */
export const keyRefused = signal(false);

// The page that is open is not loaded again for a key that is put behind its address.
addEventListener('hashchange', () => {
  const given = takeKey();
  if (given !== undefined) keepKey(given);
});

export function keepKey(text: string): void {
  storage?.setItem(STORED, text);
  keyRefused.value = false;
  key.value = text;
}

/** Call when the service refuses the key. */
export function forgetKey(): void {
  keyRefused.value = true;
  leave();
}

export function leave(): void {
  storage?.removeItem(STORED);
  key.value = undefined;
}

export function isVisitor(): boolean {
  return key.value !== undefined && key.value === settings.publicKey;
}

function keyAtStart(): string | undefined {
  const given = takeKey();
  if (given !== undefined) storage?.setItem(STORED, given);
  return given ?? (storage?.getItem(STORED) || settings.publicKey);
}

/** The key behind the address, which is taken out of it. */
function takeKey(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get('key') || undefined;
  if (given !== undefined) history.replaceState(null, '', location.pathname + location.search);
  return given;
}

function storageOfTab(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
