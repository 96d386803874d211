/**
 * From the scroll bar to rows. Browsers end elements at some 16 million pixels, which 600,000 rows reach; so a longer table has a
 * shorter scroll bar, on which a jump goes to its share of all rows, while small steps move the rows by just as many pixels.
 */

const HEIGHT_MAX = 8_000_000;

export interface ScrollMap {
  /** Of the element that is scrolled; px. */
  readonly height: number;
  /** The first row of the last screen: the furthest that can be scrolled to. */
  readonly lastTop: number;
  /** Pixels that can be scrolled by. */
  readonly range: number;
  readonly rowHeight: number;
  readonly viewport: number;
}

/** @param viewport px of rows that are seen at a time */
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

/** Where the scroll bar stands when `top`, which may be between two rows, is the first row seen. */
export function scrollTopOf({ range, lastTop }: ScrollMap, top: number): number {
  return lastTop === 0 ? 0 : (Math.min(top, lastTop) / lastTop) * range;
}

/**
 * The first row seen after the scroll bar has moved.
 * @param top the one before
 */
export function topAfter(map: ScrollMap, top: number, before: number, after: number): number {
  const { range, lastTop, rowHeight, viewport } = map;
  if (after <= 0 || range === 0) return 0;
  if (after >= range - 1) return lastTop;
  const step = after - before;
  if (Math.abs(step) > 2 * viewport) return (after / range) * lastTop;
  return Math.min(lastTop, Math.max(0, top + step / rowHeight));
}
