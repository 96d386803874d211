/** The parts of a page, each with an address of its own. */
import { changed, parameter } from '../address.ts';
import { isVisitor } from '../session.ts';
import { DownloadMenu } from '../take/download-menu.tsx';
import { ShareMenu } from '../take/share-menu.tsx';
import type { Shown } from './query-page.tsx';

export function Tabs({ query, run, resultsPath }: Shown) {
  const tab = parameter('tab') || 'rows';
  const names = ['rows', 'columns', 'chart', 'runs', 'code', ...(query.query_sql ? ['sql'] : [])];
  return (
    <div class="tabs">
      <nav aria-label="Parts of the page">
        {names.map((name) => (
          <a
            key={name}
            href={changed({ tab: name === 'rows' ? '' : name })}
            aria-current={tab === name ? 'page' : undefined}
          >
            {TITLES[name]}
          </a>
        ))}
      </nav>
      {run?.result_metadata !== undefined && (
        <div class="taking">
          {!isVisitor() && parameter('since') === '' && <ShareMenu path={sharedPath(run.execution_id, resultsPath)} />}
          <DownloadMenu executionId={run.execution_id} />
        </div>
      )}
    </div>
  );
}

/** The run that was the latest at a time is shared as that run. */
function sharedPath(executionId: string, resultsPath: string): string {
  const isLatest = resultsPath.startsWith('/v1/query/') && parameter('as_of') === '';
  return isLatest ? resultsPath.replace(/\/results$/, '') : `/v1/execution/${executionId}`;
}

const TITLES: Readonly<Record<string, string>> = {
  rows: 'Rows',
  columns: 'Columns',
  chart: 'Chart',
  runs: 'Runs',
  code: 'As code',
  sql: 'SQL',
};
