/** The SQL of a query, for keys of its owner. */
import { CopyButton } from '../parts/copy-button.tsx';

export function SqlTab({ sql }: { readonly sql: string }) {
  return (
    <section class="panel code">
      <CopyButton text={sql} />
      <pre tabIndex={0}>{sql}</pre>
    </section>
  );
}
