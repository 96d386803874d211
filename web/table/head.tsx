/** The header row. A click sorts, a drag at the edge changes the width, the menu has the rest. */
import { useState } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import type { Column } from '../api/answers.ts';
import { nextOrder, orderOf } from '../narrow/filter-text.ts';
import { ColumnMenu } from './column-menu.tsx';
import type { PlacedColumn } from './column-widths.ts';

const [WIDTH_MIN, WIDTH_MAX] = [48, 1200];

interface HeadProps {
  /** The visible columns. */
  readonly columns: readonly PlacedColumn[];
  readonly all: readonly Column[];
  readonly gutter: number;
  readonly sortBy: string;
  /** The column with the keyboard focus, or −1. */
  readonly active: number;
  readonly onWidth: (name: string, width: number) => void;
}

export function Head({ columns, all, gutter, sortBy, active, onWidth }: HeadProps) {
  const [menu, setMenu] = useState(-1);
  return (
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex={1}>
        <div role="columnheader" class="corner" style={{ width: `${gutter}px` }}>
          <span class="hidden">Row</span>
        </div>
        {columns.map((column) => (
          <HeadCell
            key={column.at}
            column={column}
            all={all}
            sortBy={sortBy}
            isActive={active === column.at}
            isOpen={menu === column.at}
            onMenu={(isOpen) => setMenu(isOpen ? column.at : -1)}
            onWidth={onWidth}
          />
        ))}
      </div>
    </div>
  );
}

interface HeadCellProps extends Pick<HeadProps, 'all' | 'sortBy' | 'onWidth'> {
  readonly column: PlacedColumn;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly onMenu: (isOpen: boolean) => void;
}

function HeadCell({ column, all, sortBy, isActive, isOpen, onMenu, onWidth }: HeadCellProps) {
  const { name, type, description, at, left, width, isNumber } = column;
  const names = all.map((one) => one.name);
  const order = orderOf(sortBy, name, names);
  const sort = (event: MouseEvent) =>
    change({ sort_by: nextOrder(parameter('sort_by'), name, event.shiftKey, names), row: '' });
  const pull = (event: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const handle = event.currentTarget;
    const from = event.clientX;
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = ({ clientX }) =>
      onWidth(name, Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, width + clientX - from)));
    handle.onpointerup = () => {
      handle.onpointermove = null;
    };
  };
  return (
    <div
      role="columnheader"
      id={`cell--1-${at}`}
      aria-colindex={at + 1}
      aria-sort={order === undefined ? 'none' : order === 'asc' ? 'ascending' : 'descending'}
      class={`name ${isNumber ? 'right' : ''} ${isActive ? 'active' : ''}`}
      style={{ left: `${left}px`, width: `${width}px` }}
    >
      <button
        type="button"
        class="sort"
        tabIndex={-1}
        title={description === undefined ? `${name}: sort` : `${name}: ${description}`}
        onClick={sort}
      >
        <bdi>{name}</bdi>
        <small>
          {order !== undefined && <b aria-hidden="true">{order === 'asc' ? '↑ ' : '↓ '}</b>}
          {type}
        </small>
      </button>
      <ColumnMenu column={column} all={all} isOpen={isOpen} onOpen={onMenu} onWidth={onWidth} />
      <span class="pull" onPointerDown={pull} />
    </div>
  );
}
