/** The parts of a page, each with an address of its own. */
import { changed, parameter } from '../address.ts';
import { DownloadMenu } from '../take/download-menu.tsx';
import type { Shown } from './query-page.tsx';

export function Tabs({ query, run }: Shown) {
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
      {run?.result_metadata !== undefined && <DownloadMenu executionId={run.execution_id} />}
    </div>
  );
}

const TITLES: Readonly<Record<string, string>> = {
  rows: 'Rows',
  columns: 'Columns',
  chart: 'Chart',
  runs: 'Runs',
  code: 'As code',
  sql: 'SQL',
};
