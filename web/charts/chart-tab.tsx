/** A chart of the view: choice of columns and kind, the picture, and how many of the rows it shows. Its script is loaded when first opened. */
import { change, parameter } from '../address.ts';
import type { Column, RunStatus } from '../api/answers.ts';
import { columnsText } from '../narrow/columns-text.ts';
import { count, counted } from '../numbers.ts';
import { useLoaded } from '../parts/load.ts';
import { FailedNotice, Loading, Notice } from '../parts/notice.tsx';
import { type ChartRows, loadChartRows } from './chart-rows.ts';
import { CHARTS, type Chart, chooseChart, ROWS } from './choose-chart.ts';
import { Picture } from './picture.tsx';
import { drawnOf } from './points.ts';

export function ChartTab({ run }: { readonly run: RunStatus }) {
  const { column_names: names = [], column_types: types = [] } = run.result_metadata ?? {};
  const columns = names.map((name, index) => ({ name, type: types[index] ?? '' }));
  const chart = chooseChart(columns, { kind: parameter('chart'), x: parameter('x'), y: parameter('y') });
  const view = {
    executionId: run.execution_id,
    filters: parameter('filters'),
    search: parameter('search'),
    sortBy: parameter('sort_by'),
    columns: columnsText([...new Set([chart.x, chart.y])].filter((name) => name !== '')),
  };
  const rows = useLoaded((signal) => loadChartRows(view, signal), [JSON.stringify(view)]);
  return (
    <section class="panel chart">
      <Choices chart={chart} columns={columns} />
      {view.filters !== '' && (
        <p class="hint">
          Of rows with <code>{view.filters}</code>
        </p>
      )}
      {view.search !== '' && (
        <p class="hint">
          Of rows in which “<bdi>{view.search}</bdi>” stands
        </p>
      )}
      {rows.kind === 'loading' && <Loading what="rows" />}
      {rows.kind === 'failed' && <FailedNotice error={rows.error} />}
      {rows.kind === 'here' && <Shown chart={chart} rows={rows.value} />}
    </section>
  );
}

function Shown({
  chart,
  rows: { columns, rows, total, isSample },
}: {
  readonly chart: Chart;
  readonly rows: ChartRows;
}) {
  if (rows.length === 0) return <Notice title="There are no rows to draw" />;
  const drawn = drawnOf(chart, columns, rows);
  const isNamed = drawn.kind === 'bars' && drawn.isNamed;
  const what =
    chart.y === '' || (drawn.kind === 'bars' && !isNamed) ? 'rows' : isNamed ? `the mean of ${chart.y}` : chart.y;
  const all = counted(total, 'row');
  const part =
    rows.length === total
      ? `All ${all}.`
      : isSample
        ? `A random sample of ${count(rows.length)} of ${all}, the same each time.`
        : `Only the first ${count(rows.length)} of ${all} that match: the others are not drawn.`;
  return (
    <>
      <Picture kind={chart.kind} drawn={drawn} label={`${chart.kind} chart of ${what} by ${chart.x}`} />
      <p class="hint" role="status">
        {part}
        {isNamed && ` Bars are ${what === 'rows' ? 'numbers of rows' : what}, the ${count(drawn.bars.length)} highest.`}
      </p>
    </>
  );
}

function Choices({ chart, columns }: { readonly chart: Chart; readonly columns: readonly Column[] }) {
  const names = columns.map(({ name }) => name).filter((name) => name !== '');
  return (
    <div class="choices">
      <Choice label="Chart" name="chart" value={chart.kind} values={CHARTS} />
      <Choice label="Across" name="x" value={chart.x} values={names} />
      {chart.kind !== 'histogram' && <Choice label="Up" name="y" value={chart.y || ROWS} values={[ROWS, ...names]} />}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly values: readonly string[];
}

function Choice({ label, name, value, values }: ChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}>
        {values.map((one) => (
          <option key={one} value={one}>
            {one === ROWS ? 'number of rows' : one}
          </option>
        ))}
      </select>
    </label>
  );
}
