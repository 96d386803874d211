/** A column's histogram as small bars. A click on a bar filters by it; a drag over several filters by all of them. */
import { useState } from 'preact/hooks';
import { change, parameter } from '../address.ts';
import { Digits } from '../api/exact-json.ts';
import { andAlso } from '../narrow/filter-text.ts';
import { count } from '../numbers.ts';
import { binsCondition } from './bins-condition.ts';
import type { Bin, ColumnStatistics } from './statistics.ts';

const [WIDTH, HEIGHT] = [220, 40];

export function Histogram({ column }: { readonly column: ColumnStatistics }) {
  const { name, type, histogram: bins = [] } = column;
  const [range, setRange] = useState<readonly [number, number]>();
  const most = Math.max(1, ...bins.map(countOf));
  const width = WIDTH / bins.length;
  const binAt = (event: PointerEvent & { readonly currentTarget: SVGElement }) => {
    const { left, width: whole } = event.currentTarget.getBoundingClientRect();
    return Math.min(bins.length - 1, Math.max(0, Math.floor(((event.clientX - left) / whole) * bins.length)));
  };
  const end = () => {
    if (range === undefined) return;
    const [first, last] = range[0] <= range[1] ? range : [range[1], range[0]];
    setRange(undefined);
    const condition = binsCondition(name, type, bins, first, last);
    if (condition !== undefined) change({ tab: '', filters: andAlso(parameter('filters'), condition), row: '' });
  };
  const isIn = (at: number) => range !== undefined && at >= Math.min(...range) && at <= Math.max(...range);
  return (
    <figure class="histogram">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={`Histogram of ${name}, from ${textOf(bins[0]?.from)} to ${textOf(bins.at(-1)?.to)}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setRange([binAt(event), binAt(event)]);
        }}
        onPointerMove={(event) => range !== undefined && setRange([range[0], binAt(event)])}
        onPointerUp={end}
        onPointerCancel={() => setRange(undefined)}
      >
        {bins.map((bin, at) => {
          const height = countOf(bin) === 0 ? 0 : Math.max(1.5, (countOf(bin) / most) * HEIGHT);
          return (
            <g key={at} class={isIn(at) ? 'in' : ''}>
              <title>{`${textOf(bin.from)} to ${textOf(bin.to)}: ${count(countOf(bin))} rows`}</title>
              <rect class="back" x={at * width} y={0} width={width} height={HEIGHT} />
              <rect class="bar" x={at * width + 0.5} y={HEIGHT - height} width={width - 1} height={height} />
            </g>
          );
        })}
      </svg>
    </figure>
  );
}

function countOf(bin: Bin): number {
  return Number(bin.count.text);
}

function textOf(edge: Bin['from'] | undefined): string {
  return edge instanceof Digits ? String(Number(Number(edge.text).toPrecision(4))) : String(edge ?? '');
}
