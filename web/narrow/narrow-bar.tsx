/** The filter, the order and the columns, as editable texts in the syntax of the API; and how many rows match. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import type { Column } from '../api/answers.ts';
import { ApiError } from '../api/client.ts';
import { count, counted } from '../numbers.ts';
import { isNumberType } from '../table/cell-text.ts';
import { isNarrowed, type View } from '../table/view.ts';
import { errorPlace } from './error-place.ts';
import { quoteName } from './filter-text.ts';
import { oneLine, withLineEnds } from './one-line.ts';

interface NarrowProps {
  readonly view: View;
  readonly error: unknown;
  /** Rows of the whole result. */
  readonly total: number;
  /** Rows of the view; undefined while it is counted. */
  readonly matching: number | undefined;
  readonly isTruncated: boolean;
  readonly columns: readonly Column[];
}

export function NarrowBar({ view, error, total, matching, isTruncated, columns: shown }: NarrowProps) {
  const { filters, search, sortBy, columns } = view;
  const isWhole = filters === '' && search === '' && sortBy === '' && columns === '';
  return (
    <div class="narrow-bar">
      <Expression name="search" label="Search" text={search} error={error} example="in any column" />
      <Expression name="filters" label="Filter" text={filters} error={error} example={exampleFilter(shown)} />
      <Expression
        name="sort_by"
        label="Sort"
        text={sortBy}
        error={error}
        example={shown[0] === undefined ? '' : `${quoteName(shown[0].name)} desc`}
      />
      <div class="counts">
        <span role="status">{error === undefined && shownCount(matching, total, isNarrowed(view))}</span>
        {isTruncated && (
          <span class="state warn" title="The result was larger than the service stores">
            truncated
          </span>
        )}
        {columns !== '' && <span class="hint">some columns</span>}
        {!isWhole && (
          <button
            type="button"
            class="quiet"
            onClick={() => change({ filters: '', search: '', sort_by: '', columns: '', row: '' })}
          >
            Show all
          </button>
        )}
      </div>
    </div>
  );
}

function shownCount(matching: number | undefined, total: number, isFiltered: boolean): string {
  if (matching === undefined) return `counting … of ${counted(total, 'row')}`;
  return isFiltered ? `${count(matching)} of ${counted(total, 'row')}` : counted(total, 'row');
}

/** An example of a filter, with columns of this result. */
function exampleFilter(columns: readonly Column[]): string {
  const number = columns.find(({ type }) => isNumberType(type));
  const text = columns.find(({ type }) => type === 'varchar');
  return [
    ...(number === undefined ? [] : [`${quoteName(number.name)} > 100`]),
    ...(text === undefined ? [] : [`${quoteName(text.name)} like 'a%'`]),
  ].join(' and ');
}

/** The service takes no more; of expressions, a setting says how much, and this is more than it has as it comes. */
const [SEARCH_LENGTH_MAX, EXPRESSION_LENGTH_MAX] = [1000, 100_000];

interface ExpressionProps {
  readonly name: 'filters' | 'search' | 'sort_by';
  readonly label: string;
  readonly text: string;
  readonly error: unknown;
  readonly example: string;
}

/** Takes effect on Enter, or when the field loses focus. */
function Expression({ name, label, text, error, example }: ExpressionProps) {
  const given = oneLine(text);
  const [typed, setTyped] = useState(given);
  // Before the visitor can type: later, it would undo what they have typed meanwhile.
  useLayoutEffect(() => setTyped(given), [text]);
  const place = error instanceof ApiError ? errorPlace(error.message) : undefined;
  const message = place?.parameter === name && error instanceof ApiError ? error.message : undefined;
  const apply = () => {
    const wanted = withLineEnds(typed, text).trim();
    if (wanted !== parameter(name)) change({ [name]: wanted, row: '' });
  };
  return (
    <form
      class={`expression ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <label for={name}>{label}</label>
      <div class="field">
        <input
          id={name}
          maxLength={name === 'search' ? SEARCH_LENGTH_MAX : EXPRESSION_LENGTH_MAX}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder={example}
          value={typed}
          aria-invalid={message !== undefined}
          aria-describedby={message === undefined ? undefined : `${name}-error`}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          onBlur={apply}
        />
        {message !== undefined && place !== undefined && (
          <div class="expression-error">
            {typed === given && (
              <pre aria-hidden="true">
                {' '.repeat(place.start)}
                {'^'.repeat(Math.min(place.length, 40))}
              </pre>
            )}
            <p id={`${name}-error`} role="alert">
              {message}
            </p>
          </div>
        )}
      </div>
    </form>
  );
}
