/** The picture of a chart: axes, and points, a line, an area or bars. */
import { count } from '../numbers.ts';
import type { ChartKind } from './choose-chart.ts';
import type { Bar, Drawn } from './points.ts';
import { type Extent, numberLabel, placeAmong, ticks, timeLabel, timeTicks } from './ticks.ts';

const [WIDTH, HEIGHT] = [1000, 420];
const EDGE = { top: 12, right: 16, bottom: 34, left: 64 };
const NAMED_BAR = 24;

interface PictureProps {
  readonly kind: ChartKind;
  readonly drawn: Drawn;
  readonly label: string;
}

export function Picture({ kind, drawn, label }: PictureProps) {
  if (drawn.kind === 'bars' && drawn.isNamed) return <NamedBars bars={drawn.bars} label={label} />;
  const marks = drawn.kind === 'bars' ? drawn.bars : drawn.points.map(({ x, y }) => ({ from: x, to: x, y }));
  const across = extent(marks.flatMap(({ from, to }) => [from, to]));
  const up = extent([...marks.map(({ y }) => y), ...(kind === 'scatter' || kind === 'line' ? [] : [0])]);
  const x = (value: number) => EDGE.left + placeAmong(across, value) * (WIDTH - EDGE.left - EDGE.right);
  const y = (value: number) => HEIGHT - EDGE.bottom - placeAmong(up, value) * (HEIGHT - EDGE.top - EDGE.bottom);
  const path = marks
    .map((mark, index) => `${index === 0 ? 'M' : 'L'}${x(mark.from).toFixed(1)} ${y(mark.y).toFixed(1)}`)
    .join('');
  const [first, last] = [marks[0], marks.at(-1)];
  return (
    <svg class="picture" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <Axes across={across} up={up} x={x} y={y} isTime={drawn.isTime} />
      {kind === 'area' && first !== undefined && last !== undefined && (
        <path class="area" d={`${path}L${x(last.from)} ${y(0)}L${x(first.from)} ${y(0)}Z`} />
      )}
      {(kind === 'line' || kind === 'area') && <path class="line" d={path} />}
      {kind === 'scatter' &&
        marks.map((mark, index) => <circle key={index} cx={x(mark.from)} cy={y(mark.y)} r={2.5} />)}
      {drawn.kind === 'bars' &&
        drawn.bars.map((bar) => (
          <rect
            key={bar.from}
            x={x(bar.from) + 0.5}
            y={y(bar.y)}
            width={Math.max(0.5, x(bar.to) - x(bar.from) - 1)}
            height={Math.max(0, y(0) - y(bar.y))}
          >
            <title>{count(bar.y)}</title>
          </rect>
        ))}
    </svg>
  );
}

interface AxesProps {
  readonly across: Extent;
  readonly up: Extent;
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly isTime: boolean;
}

function Axes({ across, up, x, y, isTime }: AxesProps) {
  const steps = isTime ? timeTicks(across.low, across.high, 8) : ticks(across.low, across.high, 8);
  const step = (steps[1] ?? 0) - (steps[0] ?? 0);
  return (
    <g class="axes">
      {ticks(up.low, up.high, 6).map((value) => (
        <g key={value}>
          <line x1={EDGE.left} x2={WIDTH - EDGE.right} y1={y(value)} y2={y(value)} />
          <text x={EDGE.left - 8} y={y(value) + 4} text-anchor="end">
            {numberLabel(value)}
          </text>
        </g>
      ))}
      {steps.map((value) => (
        <text key={value} x={x(value)} y={HEIGHT - 12} text-anchor="middle">
          {isTime ? timeLabel(value, step) : numberLabel(value)}
        </text>
      ))}
    </g>
  );
}

function NamedBars({ bars, label }: { readonly bars: readonly Bar[]; readonly label: string }) {
  const along = extent([0, ...bars.map(({ y }) => y)]);
  const x = (value: number) => 220 + placeAmong(along, value) * (WIDTH - 300);
  return (
    <svg class="picture" viewBox={`0 0 ${WIDTH} ${bars.length * NAMED_BAR + 8}`} role="img" aria-label={label}>
      {bars.map(({ label: name, y }, index) => (
        <g key={index} class="named">
          <text x={210} y={index * NAMED_BAR + 18} text-anchor="end">
            {name.slice(0, 32)}
          </text>
          <rect
            x={Math.min(x(0), x(y))}
            y={index * NAMED_BAR + 4}
            width={Math.abs(x(y) - x(0))}
            height={NAMED_BAR - 7}
          />
          <text x={Math.max(x(0), x(y)) + 6} y={index * NAMED_BAR + 18}>
            {numberLabel(y)}
          </text>
        </g>
      ))}
    </svg>
  );
}

function extent(values: readonly number[]): Extent {
  const low = values.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);
  const high = values.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY);
  return Number.isFinite(low) ? { low, high } : { low: 0, high: 1 };
}
