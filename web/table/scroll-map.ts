/**
 * Maps the scroll bar to rows. Browsers limit elements to some 16 million pixels, about 600,000 rows. In a longer table a jump of the
 * scroll bar goes to the same share of all rows, while small steps move the rows by just as many pixels.
 */

const HEIGHT_MAX = 8_000_000;

export interface ScrollMap {
  /** Height of the scrolled element; px. */
  readonly height: number;
  /** The first row of the last screen. */
  readonly lastTop: number;
  /** The greatest scroll position; px. */
  readonly range: number;
  readonly rowHeight: number;
  readonly viewport: number;
}

/** @param viewport height of the visible rows; px */
export function scrollMap(rowCount: number, rowHeight: number, viewport: number): ScrollMap {
  const height = Math.min(HEIGHT_MAX, rowCount * rowHeight);
  return {
    height,
    rowHeight,
    viewport,
    range: Math.max(0, height - viewport),
    lastTop: Math.max(0, rowCount - viewport / rowHeight),
  };
}

/** The scroll position at which `top` is the first visible row. `top` may have a fraction. */
export function scrollTopOf({ range, lastTop }: ScrollMap, top: number): number {
  return lastTop === 0 ? 0 : (Math.min(top, lastTop) / lastTop) * range;
}

/**
 * The first visible row after the scroll bar has moved.
 * @param top the first visible row before
 */
export function topAfter(map: ScrollMap, top: number, before: number, after: number): number {
  const { range, lastTop, rowHeight, viewport } = map;
  if (after <= 0 || range === 0) return 0;
  if (after >= range - 1) return lastTop;
  const step = after - before;
  if (Math.abs(step) > 2 * viewport) return (after / range) * lastTop;
  return Math.min(lastTop, Math.max(0, top + step / rowHeight));
}
