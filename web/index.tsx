/** The explorer: pages over the public API for people who look at results. This is the first file that the browser runs. */
import { render } from 'preact';
import { decoded, followLinks, path } from './address.ts';
import { KeyPage } from './pages/key-page.tsx';
import { QueriesPage } from './pages/queries-page.tsx';
import { ExecutionPage, QueryPage } from './pages/query-page.tsx';
import { UsagePage } from './pages/usage-page.tsx';
import { TopBar } from './parts/top-bar.tsx';
import { key } from './session.ts';

function Explorer() {
  return (
    <>
      <TopBar />
      {key.value === undefined ? <KeyPage /> : <Page />}
    </>
  );
}

function Page() {
  const [, folder, id = ''] = /^\/(queries|executions)\/([^/]+)\/?$/.exec(path.value) ?? [];
  // Another key may see other things, so everything is loaded again.
  const identity = `${path.value} ${key.value}`;
  if (folder === 'queries') return <QueryPage key={identity} id={decoded(id)} />;
  if (folder === 'executions') return <ExecutionPage key={identity} id={decoded(id)} />;
  if (path.value.startsWith('/usage')) return <UsagePage key={identity} />;
  return <QueriesPage key={identity} />;
}

document.addEventListener('click', followLinks);
const app = document.getElementById('app');
if (app !== null) render(<Explorer />, app);
