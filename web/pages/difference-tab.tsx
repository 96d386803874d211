/** What changed since another run: how much of what, by which key, and the rows. */
import { Fragment } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { change, changed, parameter } from '../address.ts';
import type { QueryAnswer, RunStatus } from '../api/answers.ts';
import { ApiError } from '../api/client.ts';
import { count, counted } from '../numbers.ts';
import { useLoaded } from '../parts/load.ts';
import { FailedNotice, Loading } from '../parts/notice.tsx';
import { type Difference, loadDifference } from '../table/view.ts';
import { RowsTab } from './rows-tab.tsx';

interface DifferenceProps {
  readonly run: RunStatus;
  readonly metadata: NonNullable<RunStatus['result_metadata']>;
  readonly query: QueryAnswer;
}

export function DifferenceTab({ run, metadata, query }: DifferenceProps) {
  const [since, key] = [parameter('since'), parameter('key')];
  const loaded = useLoaded((signal) => loadDifference(run.execution_id, since, key, signal), [since, key]);
  const isMistaken =
    loaded.kind === 'failed' && loaded.error instanceof ApiError && loaded.error.message.startsWith('key');
  return (
    <>
      <section class="difference" aria-label="Difference">
        <p role="status">
          {loaded.kind === 'here' && <Counts difference={loaded.value} />} since{' '}
          <a class="mono" href={`/executions/${since}`}>
            {since}
          </a>{' '}
          <a href={changed({ since: '', key: '', row: '' })}>Show the rows of this run</a>
        </p>
        <KeyForm typedKey={key} mistake={isMistaken ? (loaded.error as ApiError).message : undefined} />
      </section>
      {loaded.kind === 'loading' && <Loading what="what changed" />}
      {loaded.kind === 'failed' && !isMistaken && <FailedNotice error={loaded.error} />}
      {loaded.kind === 'here' && (
        <RowsTab
          key={`${since} ${key}`}
          run={run}
          metadata={{ ...metadata, total_row_count: loaded.value.rowCount }}
          query={query}
        />
      )}
    </>
  );
}

function Counts({ difference }: { readonly difference: Difference }) {
  const { added, removed, changed: edited, unchanged, onlyFrom, onlyTo } = difference;
  const columns = [...new Set([...onlyFrom, ...onlyTo])];
  return (
    <>
      <b>{count(added)}</b> added, <b>{count(removed)}</b> removed, <b>{count(edited)}</b> changed,{' '}
      {counted(unchanged, 'row')} as before
      {columns.length > 0 && (
        <>
          {' '}
          (not compared:{' '}
          {columns.map((name, at) => (
            <Fragment key={name}>
              {at > 0 && ', '}
              <bdi>{name}</bdi>
            </Fragment>
          ))}
          )
        </>
      )}
    </>
  );
}

function KeyForm({ typedKey, mistake }: { readonly typedKey: string; readonly mistake: string | undefined }) {
  const [typed, setTyped] = useState(typedKey);
  useLayoutEffect(() => setTyped(typedKey), [typedKey]);
  const apply = () => typed.trim() !== parameter('key') && change({ key: typed.trim(), row: '' });
  return (
    <form
      class="expression"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <label for="key">Key</label>
      <div class="field">
        <input
          id="key"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder="columns that tell which row is which"
          value={typed}
          aria-invalid={mistake !== undefined}
          aria-describedby={mistake === undefined ? undefined : 'key-error'}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onBlur={apply}
        />
        {mistake !== undefined && (
          <p id="key-error" class="expression-error" role="alert">
            {mistake}
          </p>
        )}
      </div>
    </form>
  );
}
