/** A row of the table. Rendered again only when its props change. */
import { Component } from 'preact';
import { cellText, wholeText } from './cell-text.ts';
import type { PlacedColumn } from './column-widths.ts';
import type { Row } from './row-pages.ts';

interface RowProps {
  /** In the view, from 0. */
  readonly number: number;
  /** On the screen, from 0. */
  readonly place: number;
  /** Undefined until it has arrived. */
  readonly row: Row | undefined;
  readonly columns: readonly PlacedColumn[];
  readonly gutter: number;
  /** The column with the keyboard focus, or −1. */
  readonly active: number;
  readonly chosen: number;
  readonly onChoose: (row: number, at: number) => void;
}

const DRAWN = ['number', 'place', 'row', 'gutter', 'active', 'chosen'] as const;

export class TableRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { columns } = this.props;
    const isSame = DRAWN.every((name) => this.props[name] === next[name]);
    return (
      !isSame || columns.length !== next.columns.length || columns.some((one, index) => one !== next.columns[index])
    );
  }

  override render({ number, place, row, columns, gutter, active, chosen, onChoose }: RowProps) {
    return (
      <div
        role="row"
        aria-rowindex={number + 2}
        class={`row ${number % 2 === 1 ? 'odd' : ''} ${row === undefined ? 'coming' : ''}`}
        style={{ top: `calc(var(--row) * ${place})` }}
        onClick={(event) => {
          const at = (event.target as Element).closest<HTMLElement>('[role=gridcell]')?.dataset.at;
          if (at !== undefined) onChoose(number, Number(at));
        }}
      >
        <div role="rowheader" class="row-number" style={{ width: `${gutter}px` }}>
          {number + 1}
        </div>
        {columns.map((column) => (
          <TableCell
            key={column.at}
            column={column}
            id={`cell-${number}-${column.at}`}
            row={row}
            mark={chosen === column.at ? 'chosen' : active === column.at ? 'active' : ''}
          />
        ))}
      </div>
    );
  }
}

interface CellProps {
  readonly column: PlacedColumn;
  readonly id: string;
  readonly row: Row | undefined;
  readonly mark: string;
}

function TableCell({ column, id, row, mark }: CellProps) {
  const { at, left, width, type, isNumber } = column;
  const value = row?.[at];
  const shown = value === undefined ? undefined : cellText(value, type);
  const isHash = shown?.kind === 'code' && shown.isCut;
  return (
    <div
      id={id}
      role="gridcell"
      aria-colindex={at + 1}
      aria-selected={mark === 'chosen'}
      data-at={at}
      class={`cell ${shown?.kind ?? ''} ${isNumber ? 'right' : ''} ${mark}`}
      style={{ left: `${left}px`, width: `${width}px` }}
    >
      {shown !== undefined && <bdi>{shown.text}</bdi>}
      {isHash && value !== undefined && (
        <button
          type="button"
          class="copy-cell"
          tabIndex={-1}
          aria-label="Copy the whole value"
          onClick={() => navigator.clipboard.writeText(wholeText(value)).catch(() => undefined)}
        >
          ⧉
        </button>
      )}
    </div>
  );
}
