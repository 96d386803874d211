/** Lists and searches the queries that the key may read. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { change, changed, parameter } from '../address.ts';
import type { ListAnswer, QueryAnswer } from '../api/answers.ts';
import { requestJson } from '../api/client.ts';
import { bytes, count, counted, day } from '../numbers.ts';
import { type Loaded, useLastLoaded } from '../parts/load.ts';
import { FailedNotice, Loading, Notice } from '../parts/notice.tsx';
import { Moment, State } from '../parts/state.tsx';
import { settings } from '../session.ts';

type Answer = ListAnswer & { readonly queries: readonly QueryAnswer[] };
/** With what was asked for, since it stays while others are asked for. */
type List = Answer & { readonly search: string; readonly offset: number };

const PAGE = 50;
/** The search begins so long after the last keystroke. */
const TYPING_MILLIS = 150;

export function QueriesPage() {
  const search = parameter('search');
  const offset = Number(parameter('offset')) || 0;
  const found = useLastLoaded(
    async (signal): Promise<List> => {
      const parameters = { search, offset, limit: PAGE };
      return { ...(await requestJson<Answer>('/v1/queries', { parameters, signal })), search, offset };
    },
    [search, offset],
  );
  useEffect(() => {
    document.title = 'Queries · Query Results Service';
  }, []);
  return (
    <main>
      <div class="heading">
        <h1>Queries</h1>
        <Search text={search} />
        {found.kind === 'here' && <span class="hint">{countedQueries(found.value.total)}</span>}
      </div>
      <Found found={found} />
    </main>
  );
}

function Search({ text }: { readonly text: string }) {
  const [typed, setTyped] = useState(text);
  useLayoutEffect(() => setTyped(text), [text]);
  useLayoutEffect(() => {
    if (typed === text) return;
    const timer = setTimeout(() => change({ search: typed, offset: '' }, 'replace'), TYPING_MILLIS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <search>
      <input
        type="search"
        aria-label="Search queries"
        placeholder="Search names, descriptions, tags, ids"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </search>
  );
}

function Found({ found }: { readonly found: Loaded<List> }) {
  if (found.kind === 'loading') return <Loading what="queries" />;
  if (found.kind === 'failed') return <FailedNotice error={found.error} />;
  const { queries, total, next_offset: next, search, offset } = found.value;
  if (total === 0) return search === '' ? <NoQueries /> : <Notice title={`No query matches “${search}”`} />;
  if (queries.length === 0)
    return (
      <Notice title={`There is no such page: ${countedQueries(total)} in all`}>
        <a href={changed({ offset: '' })}>To the first page</a>
      </Notice>
    );
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Queries">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Query</th>
              <th scope="col">State</th>
              <th scope="col">Last run</th>
              <th scope="col" class="number">
                Rows
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Kept until</th>
              <th scope="col">Owner</th>
            </tr>
          </thead>
          <tbody>
            {queries.map((query) => (
              <QueryRow key={query.query_id} query={query} />
            ))}
          </tbody>
        </table>
      </div>
      <Pages offset={offset} total={total} next={next} />
    </>
  );
}

function countedQueries(total: number): string {
  return counted(total, 'query').replace('querys', 'queries');
}

function QueryRow({ query }: { readonly query: QueryAnswer }) {
  const { query_id: id, name, description, owner, tags, latest_execution: latest } = query;
  const dataset = settings.datasets.find(({ queryId }) => queryId === id);
  const about = description || dataset?.title;
  return (
    <tr>
      <td class="name">
        <a href={`/queries/${id}`}>
          <bdi>{name || `Query ${id}`}</bdi>
        </a>{' '}
        <span class="id">{id}</span>
        {dataset !== undefined && <span class="tag">dataset</span>}
        {query.is_private && <span class="tag">private</span>}
        {query.is_archived && <span class="tag">archived</span>}
        {tags.map((tag) => (
          <a key={tag} class="tag" href={`/?search=${encodeURIComponent(tag)}`}>
            {tag}
          </a>
        ))}
        {about && <p class="about">{about}</p>}
      </td>
      <td>{latest === undefined ? <span class="hint">never run</span> : <State state={latest.state} />}</td>
      <td>{latest !== undefined && <Moment at={latest.execution_ended_at ?? latest.submitted_at} />}</td>
      <td class="number">{latest?.row_count !== undefined && count(latest.row_count)}</td>
      <td class="number">{latest?.bytes !== undefined && bytes(latest.bytes)}</td>
      <td>{latest?.expires_at !== undefined && <time dateTime={latest.expires_at}>{day(latest.expires_at)}</time>}</td>
      <td>{owner}</td>
    </tr>
  );
}

function NoQueries() {
  return (
    <Notice title="Your key may read no query yet">
      <p>
        Add one with <code>qrs queries add --id 1 --user NAME</code>, and give it rows with{' '}
        <code>qrs publish FILE --query 1</code>.
      </p>
    </Notice>
  );
}

function Pages({
  offset,
  total,
  next,
}: {
  readonly offset: number;
  readonly total: number;
  readonly next: number | undefined;
}) {
  if (offset === 0 && next === undefined) return null;
  return (
    <nav class="pages" aria-label="Pages of the list">
      {offset > 0 && <a href={changed({ offset: String(Math.max(0, offset - PAGE)) })}>Newer</a>}
      <span>
        {count(offset + 1)} to {count(next ?? total)} of {count(total)}
      </span>
      {next !== undefined && <a href={changed({ offset: String(next) })}>Older</a>}
    </nav>
  );
}
