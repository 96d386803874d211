/**
 * Fetches the rows of a table in pages as they come into sight. The pages used last are kept; requests for rows that have scrolled away
 * are aborted.
 */
import type { ExactJson } from '../api/exact-json.ts';

export type Row = readonly ExactJson[];

/** The rows from `offset` on: as many as asked for, or fewer, and then `nextOffset` says whether there are more. */
export interface LoadedRows {
  readonly rows: readonly Row[];
  readonly nextOffset: number | undefined;
}

export type LoadRows = (offset: number, limit: number, signal: AbortSignal) => Promise<LoadedRows>;

export const PAGE_ROWS = 100;
/** A screen shows two pages at most. */
const PAGES_MAX = 12;

export class RowPages {
  readonly #load: LoadRows;
  readonly #onChange: () => void;
  readonly #onError: (error: unknown) => void;
  /** By page number, the most recently used last. */
  readonly #pages = new Map<number, readonly Row[]>();
  readonly #loading = new Map<number, AbortController>();

  constructor(load: LoadRows, onChange: () => void, onError: (error: unknown) => void) {
    this.#load = load;
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** Undefined until it has arrived. */
  row(index: number): Row | undefined {
    return this.#pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS];
  }

  get keptRows(): number {
    return [...this.#pages.values()].reduce((sum, rows) => sum + rows.length, 0);
  }

  /** Fetches the missing ones of these rows. @param to exclusive */
  want(from: number, to: number): void {
    const [first, last] = [Math.floor(from / PAGE_ROWS), Math.floor(Math.max(from, to - 1) / PAGE_ROWS)];
    for (const [number, controller] of this.#loading) {
      if (number < first - 1 || number > last + 1) controller.abort();
    }
    for (let number = first; number <= last; number += 1) {
      const page = this.#pages.get(number);
      if (page === undefined) void this.#fetch(number);
      else {
        this.#pages.delete(number);
        this.#pages.set(number, page);
      }
    }
  }

  close(): void {
    for (const controller of this.#loading.values()) controller.abort();
  }

  async #fetch(number: number): Promise<void> {
    if (this.#loading.has(number)) return;
    const controller = new AbortController();
    this.#loading.set(number, controller);
    try {
      const rows = await this.#rowsOf(number, controller.signal);
      this.#pages.set(number, rows);
      const [oldest] = this.#pages.keys();
      if (this.#pages.size > PAGES_MAX && oldest !== undefined) this.#pages.delete(oldest);
      this.#onChange();
    } catch (error) {
      if (!controller.signal.aborted) this.#onError(error);
    } finally {
      this.#loading.delete(number);
    }
  }

  /** The API ends a page of large rows before the limit; then the rest is fetched, too. */
  async #rowsOf(number: number, signal: AbortSignal): Promise<readonly Row[]> {
    const end = (number + 1) * PAGE_ROWS;
    const rows: Row[] = [];
    let offset: number | undefined = number * PAGE_ROWS;
    while (offset !== undefined && offset < end) {
      const loaded: LoadedRows = await this.#load(offset, end - offset, signal);
      rows.push(...loaded.rows);
      offset = loaded.nextOffset;
    }
    return rows;
  }
}
