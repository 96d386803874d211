/** The chosen cell: its whole value, to copy and to filter by. */
import { change, parameter } from '../address.ts';
import type { Column } from '../api/answers.ts';
import type { ExactJson } from '../api/exact-json.ts';
import { count } from '../numbers.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { isNumberType, isTimeType, wholeText } from '../table/cell-text.ts';
import type { Cell } from '../table/cells.ts';
import { andAlso, type Comparison, conditionOn } from './filter-text.ts';

/** Of a longer text only the beginning is shown; copying takes all. */
const SHOWN_MAX = 5000;

interface CellBarProps {
  readonly cell: Cell;
  readonly onClose: () => void;
}

export function CellBar({ cell, onClose }: CellBarProps) {
  const { row, column, value } = cell;
  const { name, type } = column;
  const text = value === undefined ? '…' : value === null ? 'null' : wholeText(value);
  const hasOrder = value !== null && (isNumberType(type) || isTimeType(type));
  const comparisons: readonly Comparison[] = hasOrder ? ['=', '<>', '>=', '<='] : ['=', '<>'];
  return (
    <aside class="cell-bar" aria-label="The chosen cell">
      <div class="what">
        <b>
          <bdi>{name}</bdi>
        </b>{' '}
        <small>{type}</small> <span class="hint">row {count(row + 1)}</span>
      </div>
      <div class="actions">
        {value !== undefined &&
          comparisons.map((comparison) => (
            <FilterButton key={comparison} column={column} value={value} comparison={comparison} />
          ))}
        {value !== undefined && <CopyButton text={value === null ? '' : text} />}
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </div>
      <pre class={value === null ? 'null' : ''} tabIndex={0} dir="auto">
        {text.slice(0, SHOWN_MAX)}
        {text.length > SHOWN_MAX && `… (${count(text.length)} characters)`}
      </pre>
    </aside>
  );
}

const LABELS: Readonly<Record<Comparison, string>> = {
  '=': 'Only this',
  '<>': 'Without this',
  '>=': 'From this on',
  '<=': 'Up to this',
};

interface FilterProps {
  readonly column: Column;
  readonly value: ExactJson;
  readonly comparison: Comparison;
}

function FilterButton({ column: { name, type }, value, comparison }: FilterProps) {
  const condition = conditionOn(name, type, comparison, value);
  if (condition === undefined || condition.length > SHOWN_MAX) return null;
  return (
    <button
      type="button"
      title={condition.slice(0, 200)}
      onClick={() => change({ filters: andAlso(parameter('filters'), condition), row: '' })}
    >
      {LABELS[comparison]}
    </button>
  );
}
