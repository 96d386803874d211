/** The figures of a column, as cells of its row: nulls, distinct values, histogram, most frequent values. */
import { change, parameter } from '../address.ts';
import { Digits, type ExactJson } from '../api/exact-json.ts';
import { andAlso, conditionOn } from '../narrow/filter-text.ts';
import { count } from '../numbers.ts';
import { cellText } from '../table/cell-text.ts';
import { Histogram } from './histogram.tsx';
import type { ColumnStatistics, TopValue } from './statistics.ts';

const TOP_SHOWN = 5;
/** The API cuts longer texts, so a filter cannot be made from them. */
const TEXT_LENGTH_MAX = 200;

export function ColumnFigures({ column }: { readonly column: ColumnStatistics | undefined }) {
  if (column === undefined)
    return (
      <td colSpan={4} class="hint">
        …
      </td>
    );
  const [rows, nulls] = [Number(column.row_count), Number(column.null_count)];
  const { distinct_count: distinct, distinct_is_exact: isExact } = column;
  return (
    <>
      <td class="number">
        {count(nulls)}
        {nulls > 0 && <small> {percent(nulls / rows)}</small>}
      </td>
      <td class="number">{distinct !== undefined && `${isExact ? '' : 'about '}${count(Number(distinct))}`}</td>
      <td>
        {column.histogram !== undefined && <Histogram column={column} />}
        <Extremes column={column} />
      </td>
      <td>
        <ul class="top-values">
          {column.top?.slice(0, TOP_SHOWN).map((one) => (
            <Top key={String(one.value)} column={column} top={one} rows={rows} />
          ))}
        </ul>
      </td>
    </>
  );
}

function Extremes({ column }: { readonly column: ColumnStatistics }) {
  const { type, min, max, mean, shortest, longest } = column;
  if (min !== undefined && max !== undefined) {
    return (
      <p class="extremes">
        {shown(min, type)} <span class="hint">to</span> {shown(max, type)}
        {mean !== undefined && <small> mean {Number(mean).toPrecision(5)}</small>}
      </p>
    );
  }
  if (shortest === undefined || longest === undefined) return null;
  return (
    <p class="extremes hint">
      {String(shortest)} to {String(longest)} characters
    </p>
  );
}

function Top({
  column,
  top,
  rows,
}: {
  readonly column: ColumnStatistics;
  readonly top: TopValue;
  readonly rows: number;
}) {
  const { name, type } = column;
  const { value } = top;
  const isWhole = typeof value !== 'string' || value.length < TEXT_LENGTH_MAX;
  const condition = isWhole ? conditionOn(name, type, '=', value) : undefined;
  const share = Number(top.count) / rows;
  const text = <bdi>{value === '' ? '(empty)' : shown(value, type)}</bdi>;
  return (
    <li>
      {condition === undefined ? (
        text
      ) : (
        <button
          type="button"
          title={condition}
          onClick={() => change({ tab: '', filters: andAlso(parameter('filters'), condition), row: '' })}
        >
          {text}
        </button>
      )}
      <span class="share" title={`${count(Number(top.count))} rows`}>
        {percent(share)}
      </span>
    </li>
  );
}

function shown(value: ExactJson, type: string): string {
  return value instanceof Digits ? value.text : cellText(value, type).text.slice(0, 60);
}

function percent(share: number): string {
  return share > 0 && share < 0.001 ? '<0.1 %' : `${(100 * share).toFixed(share >= 0.1 ? 0 : 1)} %`;
}
