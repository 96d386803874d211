/** The state of something that a page loads: on its way, there, or refused. */
import { useEffect, useState } from 'preact/hooks';

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'here'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Loads again when one of `inputs` changes, and drops an answer still awaited. The last value stays until the new one arrives. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ kind: 'loading' });
  useEffect(() => {
    const controller = new AbortController();
    load(controller.signal).then(
      (value) => controller.signal.aborted || setLoaded({ kind: 'here', value }),
      (error: unknown) => controller.signal.aborted || setLoaded({ kind: 'failed', error }),
    );
    return () => controller.abort();
  }, inputs);
  return loaded;
}
