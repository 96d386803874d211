/** The head of a page: the query's name and description, and one line about the run: when, how large, how long it is kept. */
import { bytes, counted, day, duration, when } from '../numbers.ts';
import { Moment, State } from '../parts/state.tsx';
import { settings } from '../session.ts';
import type { Shown } from './query-page.tsx';

export function RunHeading({ query, run, resultsPath }: Shown) {
  const { query_id: id, name, description, owner, tags } = query;
  const dataset = settings.datasets.find(({ queryId }) => queryId === id);
  const title = <bdi>{name || `Query ${id}`}</bdi>;
  const byRun = resultsPath.startsWith('/v1/execution/');
  return (
    <div class="run-heading">
      <h1>
        {byRun ? <a href={`/queries/${id}`}>{title}</a> : title} <span class="id">{id}</span>
        {query.is_private && <span class="tag">private</span>}
        {query.is_archived && <span class="tag">archived</span>}
        {tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
      </h1>
      {(description || dataset) && <p class="about">{description || dataset?.title}</p>}
      <ul class="facts">
        <li>
          <bdi>{owner}</bdi>
        </li>
        {dataset !== undefined && (
          <li title={`The dataset’s address: ${dataset.path}`}>
            refreshed by <code>{dataset.schedule}</code> (UTC)
          </li>
        )}
        {run !== undefined && <RunFacts run={run} />}
        {byRun && <li class="mono">{run?.execution_id}</li>}
      </ul>
    </div>
  );
}

function RunFacts({ run }: { readonly run: NonNullable<Shown['run']> }) {
  const { state, submitted_at, execution_started_at: started, execution_ended_at: ended, expires_at: expires } = run;
  const size = run.result_metadata;
  const took = started !== undefined && ended !== undefined ? Date.parse(ended) - Date.parse(started) : 0;
  return (
    <>
      <li>
        <State state={state} /> <Moment at={ended ?? submitted_at} />
        {took >= 1 && ` in ${duration(took)}`}
      </li>
      {size !== undefined && (
        <li>
          {counted(size.total_row_count, 'row')}, {counted(size.column_names.length, 'column')},{' '}
          {bytes(size.total_result_set_bytes)}
        </li>
      )}
      {expires !== undefined && <li title={when(expires)}>kept until {day(expires)}</li>}
      {Object.entries(run.query_parameters ?? {}).map(([name, value]) => (
        <li key={name}>
          <bdi>{name}</bdi> = <bdi>{value}</bdi>
        </li>
      ))}
    </>
  );
}
