/** The state of something that a page loads: on its way, there, or refused. */
import { useEffect, useState } from 'preact/hooks';

export type Loaded<T> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'here'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown };

type Load<T> = (signal: AbortSignal) => Promise<T>;

/** Loads again when one of `inputs` changes, and drops an answer still awaited: what was loaded for others is not shown as if it were for these. */
export function useLoaded<T>(load: Load<T>, inputs: readonly unknown[]): Loaded<T> {
  const { loaded, inputs: of } = useAnswer(load, inputs);
  return inputs.every((one, index) => one === of[index]) ? loaded : { kind: 'loading' };
}

/** For a list in pages: the last one stays until the new one arrives, so that nothing jumps. Its value has to say of what it is. */
export function useLastLoaded<T>(load: Load<T>, inputs: readonly unknown[]): Loaded<T> {
  return useAnswer(load, inputs).loaded;
}

interface Answer<T> {
  readonly loaded: Loaded<T>;
  /** For which it was loaded. */
  readonly inputs: readonly unknown[];
}

function useAnswer<T>(load: Load<T>, inputs: readonly unknown[]): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T>>({ loaded: { kind: 'loading' }, inputs });
  useEffect(() => {
    const controller = new AbortController();
    const set = (loaded: Loaded<T>) => controller.signal.aborted || setAnswer({ loaded, inputs });
    load(controller.signal).then(
      (value) => set({ kind: 'here', value }),
      (error: unknown) => set({ kind: 'failed', error }),
    );
    return () => controller.abort();
  }, inputs);
  return answer;
}
