/** The menu of a column: sort, filter, hide, move, change the width. */
import { useEffect, useRef } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import type { Column } from '../api/answers.ts';
import { columnsText } from '../narrow/columns-text.ts';
import { andAlso, quoteName } from '../narrow/filter-text.ts';
import type { PlacedColumn } from './column-widths.ts';

const WIDER = 80;

interface MenuProps {
  readonly column: PlacedColumn;
  readonly all: readonly Column[];
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
  readonly onWidth: (name: string, width: number) => void;
}

export function ColumnMenu({ column, all, isOpen, onOpen, onWidth }: MenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    menu.current?.querySelector('button')?.focus();
    const close = (event: Event) => menu.current?.parentElement?.contains(event.target as Node) || onOpen(false);
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, [isOpen]);
  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...(menu.current?.querySelectorAll('button') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLButtonElement);
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) items[(at + step + items.length) % items.length]?.focus();
    if (event.key === 'Escape' || event.key === 'Tab') {
      onOpen(false);
      menu.current?.closest<HTMLElement>('[role=grid]')?.focus();
    }
    event.stopPropagation();
    if (step !== 0 || event.key === 'Escape') event.preventDefault();
  };
  const items = itemsOf(column, all, onWidth);
  return (
    <span class="menu">
      <button
        type="button"
        class="open-menu"
        tabIndex={-1}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={`Menu of ${column.name}`}
        onClick={() => onOpen(!isOpen)}
      >
        ⋮
      </button>
      {isOpen && (
        <div
          ref={menu}
          role="menu"
          class={column.left < 200 ? 'to-right' : ''}
          aria-label={column.name}
          tabIndex={-1}
          onKeyDown={onKeyDown}
        >
          {items.map(([label, act]) => (
            <button
              key={label}
              type="button"
              role="menuitem"
              onClick={() => {
                onOpen(false);
                act();
              }}
            >
              {label}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

type Item = readonly [label: string, act: () => void];

function itemsOf(
  { name, at, width }: PlacedColumn,
  all: readonly Column[],
  onWidth: MenuProps['onWidth'],
): readonly Item[] {
  const column = quoteName(name);
  const filter = (condition: string) => change({ filters: andAlso(parameter('filters'), condition), row: '' });
  const arrange = (names: readonly string[]) => change({ columns: columnsText(names) });
  const names = all.map((one) => one.name);
  const moved = (to: number) => {
    const rest = names.filter((one) => one !== name);
    return [...rest.slice(0, to), name, ...rest.slice(to)];
  };
  return [
    ['Sort ascending', () => change({ sort_by: column, row: '' })],
    ['Sort descending', () => change({ sort_by: `${column} desc`, row: '' })],
    ['Only with a value', () => filter(`${column} is not null`)],
    ['Only without a value', () => filter(`${column} is null`)],
    ...(all.length > 1 ? [['Hide', () => arrange(names.filter((one) => one !== name))] as const] : []),
    ...(at > 0 ? [['Move left', () => arrange(moved(at - 1))] as const] : []),
    ...(at < all.length - 1 ? [['Move right', () => arrange(moved(at + 1))] as const] : []),
    ['Wider', () => onWidth(name, width + WIDER)],
    ['Narrower', () => onWidth(name, Math.max(WIDER, width - WIDER))],
  ];
}
