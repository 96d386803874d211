/** The page of a query (with the rows of its latest run) and of a single run. */
import { useEffect } from 'preact/hooks';
import { parameter } from '../address.ts';
import type { ListAnswer, QueryAnswer, Run, RunStatus } from '../api/answers.ts';
import { requestJson } from '../api/client.ts';
import { rowsPath } from '../api/rows-path.ts';
import { ColumnsTab } from '../columns/columns-tab.tsx';
import { useLoaded } from '../parts/load.ts';
import { FailedNotice, Loading } from '../parts/notice.tsx';
import { Moment, State } from '../parts/state.tsx';
import { CodeTab } from '../take/code-tab.tsx';
import { AsOfNote, LatestLink } from './as-of.tsx';
import { DifferenceTab } from './difference-tab.tsx';
import { NoRows } from './no-rows.tsx';
import { RowsTab } from './rows-tab.tsx';
import { RunHeading } from './run-heading.tsx';
import { RunsTab } from './runs-tab.tsx';
import { SqlTab } from './sql-tab.tsx';
import { Tabs } from './tabs.tsx';

/** The query, and its run whose rows are shown. */
export interface Shown {
  readonly query: QueryAnswer;
  /** Undefined if the query has never run. */
  readonly run: RunStatus | undefined;
  /** The newest run, if it is not the one shown. */
  readonly newer: Run | undefined;
  /** The API's address of the rows, by the query or by the run. */
  readonly resultsPath: string;
}

export function QueryPage({ id }: { readonly id: string }) {
  return <ShownPage title={`Query ${id}`} load={(signal) => loadQuery(id, parameter('as_of'), signal)} />;
}

export function ExecutionPage({ id }: { readonly id: string }) {
  return <ShownPage title={`Run ${id}`} load={(signal) => loadExecution(id, signal)} />;
}

async function loadQuery(id: string, asOf: string, signal: AbortSignal): Promise<Shown> {
  const address = `/v1/query/${encodeURIComponent(id)}`;
  const [query, runs] = await Promise.all([
    requestJson<QueryAnswer>(address, { signal }),
    requestJson<ListAnswer & { readonly executions: readonly Run[] }>(`${address}/executions`, {
      parameters: { limit: 1 },
      signal,
    }),
  ]);
  if (asOf !== '') {
    const run = await loadRun(await findRunAsOf(address, asOf, signal), signal);
    return { query, run, newer: undefined, resultsPath: `${address}/results` };
  }
  const latest = query.latest_execution?.execution_id;
  const run = latest === undefined ? undefined : await loadRun(latest, signal);
  const newer = runs.executions.find(({ execution_id }) => execution_id !== latest);
  return { query, run, newer, resultsPath: `${address}/results` };
}

/** The id of the run that was the latest then. */
async function findRunAsOf(address: string, asOf: string, signal: AbortSignal): Promise<string> {
  const parameters = { as_of: asOf, limit: 0, allow_partial_results: 'true' };
  const { execution_id } = await requestJson<RunStatus>(`${address}/results`, { parameters, signal });
  return execution_id;
}

async function loadExecution(id: string, signal: AbortSignal): Promise<Shown> {
  const run = await loadRun(id, signal);
  const query = await requestJson<QueryAnswer>(`/v1/query/${run.query_id}`, { signal });
  return { query, run, newer: undefined, resultsPath: `/v1/execution/${run.execution_id}/results` };
}

async function loadRun(id: string, signal: AbortSignal): Promise<RunStatus> {
  return await requestJson<RunStatus>(`/v1/execution/${encodeURIComponent(id)}/status`, { signal });
}

interface ShownPageProps {
  /** The page's heading as long as nothing more is known. */
  readonly title: string;
  readonly load: (signal: AbortSignal) => Promise<Shown>;
}

function ShownPage({ title, load }: ShownPageProps) {
  const asOf = parameter('as_of');
  const loaded = useLoaded(load, [asOf]);
  useEffect(() => {
    if (loaded.kind !== 'here') return;
    const { name, query_id: id } = loaded.value.query;
    document.title = `${name || `Query ${id}`} · Query Results Service`;
  }, [loaded]);
  if (loaded.kind === 'loading')
    return (
      <main class="whole">
        <h1>{title}</h1>
        <Loading what="the query" />
      </main>
    );
  if (loaded.kind === 'failed')
    return (
      <main>
        <h1>{title}</h1>
        <FailedNotice error={loaded.error} />
        {asOf !== '' && <LatestLink />}
      </main>
    );
  const shown = loaded.value;
  return (
    <main class="whole">
      <RunHeading {...shown} />
      {asOf !== '' && shown.resultsPath.startsWith('/v1/query/') && <AsOfNote />}
      {shown.newer !== undefined && <Newer run={shown.newer} />}
      <Tabs {...shown} />
      <Tab {...shown} />
    </main>
  );
}

function Newer({ run }: { readonly run: Run }) {
  return (
    <p class="newer" role="status">
      The <a href={`/executions/${run.execution_id}`}>newest run</a>, submitted <Moment at={run.submitted_at} />, is{' '}
      <State state={run.state} />: these are the rows of the run before.
    </p>
  );
}

function Tab(shown: Shown) {
  const { query, run } = shown;
  const metadata = run?.result_metadata;
  switch (parameter('tab')) {
    case 'runs':
      return <RunsTab id={query.query_id} shown={run?.execution_id} />;
    case 'sql':
      return <SqlTab sql={query.query_sql ?? ''} />;
    case 'code':
      return <CodeTab path={codePath(shown)} isTruncated={mayBeTruncated(shown)} />;
    case 'columns':
      return run === undefined || metadata === undefined ? (
        <NoRows {...shown} />
      ) : (
        <ColumnsTab run={run} query={query} />
      );
    case 'chart':
      return run === undefined || metadata === undefined ? <NoRows {...shown} /> : <LazyChart run={run} />;
    default: {
      const Rows = parameter('since') === '' ? RowsTab : DifferenceTab;
      return run === undefined || metadata === undefined ? (
        <NoRows {...shown} />
      ) : (
        <Rows key={run.execution_id} run={run} metadata={metadata} query={query} />
      );
    }
  }
}

/** The API's address of what is shown. */
function codePath({ run, resultsPath }: Shown): string {
  const since = parameter('since');
  return run === undefined || since === '' ? resultsPath : rowsPath(run.execution_id, since);
}

/** Whether a run has a part of its rows only, which is not known here of the one since which changes are shown. */
function mayBeTruncated({ run }: Shown): boolean {
  return run?.state === 'QUERY_STATE_COMPLETED_PARTIAL' || (run !== undefined && parameter('since') !== '');
}

/** Charts are a script of their own, since most visits do not need them. */
function LazyChart({ run }: { readonly run: RunStatus }) {
  const loaded = useLoaded(() => import('../charts/chart-tab.tsx'), []);
  if (loaded.kind === 'loading') return <Loading what="charts" />;
  if (loaded.kind === 'failed') return <FailedNotice error={loaded.error} />;
  const { ChartTab } = loaded.value;
  return <ChartTab run={run} />;
}
