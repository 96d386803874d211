/**
 * A table that scrolls through all rows; only visible rows and columns are in the document. It is one stop of the Tab key; arrows go
 * from cell to cell, and from the first row up to the header.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import type { Column } from '../api/answers.ts';
import type { Cell } from './cells.ts';
import { columnsBetween, placeColumns } from './column-widths.ts';
import { Head } from './head.tsx';
import { movedBy } from './keys.ts';
import type { RowPages } from './row-pages.ts';
import { scrollMap, scrollTopOf, topAfter } from './scroll-map.ts';
import { TableRow } from './table-row.tsx';

export const ROW_HEIGHT = 28;
export const HEAD_HEIGHT = 46;
const SAMPLE_ROWS = 50;
/** Columns rendered beyond the edges, so that scrolling sideways shows no gap. */
const BESIDE = 300;
/** When scrolling has rested so long, the scroll bar is moved to where the rows are. */
const REST_MILLIS = 200;
const ADDRESS_MILLIS = 400;

type Place = readonly [row: number, column: number];

interface TableProps {
  readonly pages: RowPages;
  /** Grows when rows have arrived. */
  readonly changes: number;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly sortBy: string;
  readonly cell: Cell | undefined;
  readonly onCell: (cell: Cell) => void;
}

export function VirtualTable({ pages, changes, columns, rowCount, sortBy, cell, onCell }: TableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const row = parameter('row');
  const [wished, setTop] = useState(() => topOf(row));
  const [left, setLeft] = useState(0);
  const [widths, setWidths] = useState<ReadonlyMap<string, number>>(new Map());
  /** The cell with the keyboard focus; row −1 is the header. */
  const [active, setActive] = useState<Place>([0, 0]);
  const wasSeen = useRef(false);
  /** The cell that was chosen before its row had arrived. */
  const awaited = useRef<Place | undefined>(undefined);
  const scrolled = useRef({ top: 0, ours: -1 });
  /** What the address says, as this table has written or followed it. */
  const followed = useRef(row);

  const viewport = Math.max(ROW_HEIGHT, size.height - HEAD_HEIGHT);
  const map = scrollMap(rowCount, ROW_HEIGHT, viewport);
  // A link may name a row that the result has no more.
  const top = Math.min(wished, map.lastTop);
  const first = Math.floor(top);
  const end = Math.min(rowCount, Math.ceil(top + viewport / ROW_HEIGHT) + 1);
  const gutter = 20 + String(rowCount).length * 8;
  const hasSample = pages.row(first) !== undefined;
  const placed = useMemo(() => {
    const sample = Array.from({ length: SAMPLE_ROWS }, (_, index) => pages.row(first + index)).filter(
      (row) => row !== undefined,
    );
    return placeColumns(columns, sample, widths, gutter);
  }, [columns, widths, gutter, pages, hasSample && changes > 0]);
  const whole = placed.reduce((sum, { width }) => sum + width, gutter);
  const seen = columnsBetween(placed, left - BESIDE, left + size.width + BESIDE);

  const isSeen =
    seen.some(({ at }) => at === active[1]) && (active[0] === -1 || (active[0] >= first && active[0] < end));

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  // Rows that are beyond the last are not where one is when there are more again.
  useLayoutEffect(() => setTop(top), [top]);
  // A click or a button of the browser has changed it: another order begins at its first row, and Back leads to the row of before.
  useLayoutEffect(() => {
    if (row === followed.current) return;
    followed.current = row;
    jump(topOf(row));
  }, [row]);
  useEffect(() => pages.want(first, end), [pages, first, end]);
  useEffect(() => {
    if (awaited.current !== undefined) choose(...awaited.current);
  }, [changes]);
  useLayoutEffect(() => {
    // The rows of another view are not those that were chosen.
    awaited.current = undefined;
  }, [pages]);
  useEffect(() => scrollTo(top), [size.height, pages]);
  // The bar of the chosen cell takes room: what was seen stays in sight.
  useEffect(() => {
    if (wasSeen.current) showRow(active[0]);
  }, [size.height]);
  useEffect(() => {
    wasSeen.current = isSeen;
  });
  useEffect(() => {
    const timer = setTimeout(() => {
      followed.current = first === 0 ? '' : String(first + 1);
      change({ row: followed.current }, 'replace');
    }, ADDRESS_MILLIS);
    return () => clearTimeout(timer);
  }, [first]);
  useEffect(() => {
    const timer = setTimeout(() => {
      // Where a frame is late, it may have been scrolled further, and the page is told of that with the next one.
      if (box.current?.scrollTop === scrolled.current.top) scrollTo(top);
    }, REST_MILLIS);
    return () => clearTimeout(timer);
  }, [top]);

  const scrollTo = (row: number) => {
    const element = box.current;
    if (element === null || size.height === 0) return;
    element.scrollTop = scrollTopOf(map, row);
    scrolled.current = { top: element.scrollTop, ours: element.scrollTop };
  };
  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLDivElement }) => {
    const { scrollTop, scrollLeft } = currentTarget;
    setLeft(scrollLeft);
    if (scrollTop !== scrolled.current.ours) setTop((before) => topAfter(map, before, scrolled.current.top, scrollTop));
    scrolled.current = { top: scrollTop, ours: -1 };
  };
  const choose = (row: number, at: number) => {
    setActive([row, at]);
    awaited.current = undefined;
    const column = columns[at];
    if (row < 0 || column === undefined) return;
    const value = pages.row(row)?.[at];
    if (value === undefined) awaited.current = [row, at];
    onCell({ row, at, column, value });
  };
  const showRow = (row: number) => {
    const screen = Math.floor(viewport / ROW_HEIGHT);
    if (row >= 0 && row < top) jump(row);
    if (row >= Math.floor(top) + screen) jump(row - screen + 1);
  };
  const show = ([row, at]: Place) => {
    const column = placed[at];
    const element = box.current;
    if (element === null || column === undefined) return;
    showRow(row);
    if (column.left - gutter < element.scrollLeft) element.scrollLeft = column.left - gutter;
    const over = column.left + column.width - element.clientWidth;
    if (over > element.scrollLeft) element.scrollLeft = over;
  };
  const jump = (row: number) => {
    const to = Math.min(map.lastTop, Math.max(0, row));
    setTop(to);
    scrollTo(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const head = active[0] === -1 ? document.getElementById(`cell--1-${active[1]}`) : null;
    const button =
      event.key === 'Enter' ? '.sort' : event.key === 'ContextMenu' || event.altKey ? '.open-menu' : undefined;
    if (head !== null && button !== undefined) {
      event.preventDefault();
      head.querySelector<HTMLButtonElement>(button)?.click();
      return;
    }
    const screen = Math.floor(viewport / ROW_HEIGHT);
    const moved = movedBy(event, active, { rows: rowCount, columns: columns.length, screen });
    if (moved === undefined) return;
    event.preventDefault();
    show(moved);
    choose(...moved);
  };

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label="Rows"
      aria-rowcount={rowCount + 1}
      aria-colcount={columns.length}
      aria-activedescendant={isSeen ? `cell-${active[0]}-${active[1]}` : undefined}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div role="none" class="space" style={{ height: `${map.height + HEAD_HEIGHT}px`, width: `${whole}px` }}>
        {/* As high as what is seen, however few rows there are: it clips, and a column's menu needs the room. */}
        <div role="none" class="window" style={{ height: `${size.height}px` }}>
          <Head
            columns={seen}
            all={columns}
            gutter={gutter}
            sortBy={sortBy}
            active={active[0] === -1 ? active[1] : -1}
            onWidth={(name, width) => setWidths((before) => new Map([...before, [name, width]]))}
          />
          <div role="rowgroup" class="body" style={{ transform: `translateY(${-(top - first) * ROW_HEIGHT}px)` }}>
            {Array.from({ length: Math.max(0, end - first) }, (_, index) => (
              <TableRow
                key={first + index}
                number={first + index}
                place={index}
                row={pages.row(first + index)}
                columns={seen}
                gutter={gutter}
                active={active[0] === first + index ? active[1] : -1}
                chosen={cell?.row === first + index ? cell.at : -1}
                onChoose={choose}
              />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}

/** @param row as the address has it */
function topOf(row: string): number {
  return Math.max(0, (Number(row) || 1) - 1);
}
