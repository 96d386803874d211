/** The request for what is on the screen, as code in the language of choice. */
import { change, changed, parameter } from '../address.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { settings } from '../session.ts';
import { asCode, LANGUAGES } from './as-code.ts';

const SHOWN = ['columns', 'search', 'filters', 'sort_by'] as const;

/** Without it the service refuses a truncated result, or what changed since one. */
const ALLOWED = ['allow_partial_results', 'true'] as const;

interface CodeProps {
  readonly path: string;
  /** Whether what is shown is, or may be, of a truncated result, of which the page tells its visitor. */
  readonly isTruncated: boolean;
}

export function CodeTab({ path, isTruncated }: CodeProps) {
  const language = LANGUAGES.find((name) => name === parameter('language')) ?? 'curl';
  const shown = path.startsWith('/v1/query/')
    ? [...SHOWN, 'as_of']
    : path.includes('/diff/')
      ? [...SHOWN, 'key']
      : SHOWN;
  const parameters = shown.map((name) => [name, parameter(name)] as const).filter(([, value]) => value !== '');
  const all = isTruncated ? [...parameters, ALLOWED] : parameters;
  const code = asCode(language, { base: location.origin, path, keyHeader: settings.keyHeader, parameters: all });
  return (
    <section class="panel code">
      <nav class="languages" aria-label="Languages">
        {LANGUAGES.map((name) => (
          <a key={name} href={changed({ language: name })} aria-current={name === language ? 'true' : undefined}>
            {name}
          </a>
        ))}
        <CopyButton text={code} />
      </nav>
      <pre tabIndex={0}>{code}</pre>
      <p class="hint">
        {parameters.length === 0
          ? 'All rows and columns: a filter, an order or fewer columns chosen under Rows appear here.'
          : 'With the filter, the order and the columns chosen under Rows.'}{' '}
        {parameters.length > 0 && (
          <button
            type="button"
            class="quiet"
            onClick={() => change(Object.fromEntries(SHOWN.map((name) => [name, ''])))}
          >
            All rows
          </button>
        )}
      </p>
      <p class="hint">
        The key is read from <code>QRS_KEY</code>. A spreadsheet cannot send headers, so the key is a part of its
        address.
      </p>
    </section>
  );
}
