/** The top of every page: the current place, links, and whose key it is. */
import { path } from '../address.ts';
import { isVisitor, key, leave, settings } from '../session.ts';

export function TopBar() {
  const own = key.value !== undefined && !isVisitor();
  const current = (to: string) => (path.value === to ? 'page' : undefined);
  return (
    <header class="top">
      <a class="brand" href="/">
        <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
          <path d="M2 4h16M2 10h16M2 16h10" />
        </svg>
        Query Results
      </a>
      <nav aria-label="Pages">
        {key.value !== undefined && (
          <>
            <a href="/" aria-current={current('/')}>
              Queries
            </a>
            <a href="/usage" aria-current={current('/usage')}>
              Usage
            </a>
          </>
        )}
        <a href="/docs" target="_blank" rel="noreferrer">
          API
        </a>
      </nav>
      {own && (
        <button type="button" class="quiet" onClick={leave} title="Forgets the key of this tab">
          Leave
        </button>
      )}
      {isVisitor() && (
        <button type="button" class="quiet" onClick={leave} title="To see what a key of your own may read">
          Enter a key
        </button>
      )}
      <span class="version">{settings.version}</span>
    </header>
  );
}
