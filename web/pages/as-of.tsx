/** Which run is shown: the latest, or the latest of an earlier time (`as_of` of the address). */
import { useState } from 'preact/hooks';
import { change, changed, parameter } from '../address.ts';

/** Takes a time in UTC, and opens the rows of then. */
export function AsOfForm() {
  const [typed, setTyped] = useState(parameter('as_of').slice(0, 16));
  return (
    <form
      class="as-of"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed !== '') change({ as_of: `${typed}:00Z`, tab: '', row: '' });
      }}
    >
      <label for="as_of">The latest run as of</label>
      <input
        id="as_of"
        type="datetime-local"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <span class="hint">UTC</span>
      <button type="submit" disabled={typed === ''}>
        Show its rows
      </button>
    </form>
  );
}

/** Says that an earlier run may be shown, and leads back. */
export function AsOfNote() {
  return (
    <p class="newer" role="status">
      The run that was the latest as of <time dateTime={parameter('as_of')}>{parameter('as_of')}</time>. <LatestLink />
    </p>
  );
}

export function LatestLink() {
  return <a href={changed({ as_of: '', row: '' })}>To the latest run</a>;
}
