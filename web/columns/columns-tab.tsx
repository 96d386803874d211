/** The columns of a result: names, types, meanings and figures. Chooses which of them the table shows. */
import { change, parameter } from '../address.ts';
import type { QueryAnswer, RunStatus } from '../api/answers.ts';
import { columnsText, namesIn } from '../narrow/columns-text.ts';
import { FailedNotice } from '../parts/notice.tsx';
import { ColumnFigures } from './column-figures.tsx';
import { useStatistics } from './statistics.ts';

interface ColumnsProps {
  readonly run: RunStatus;
  readonly query: QueryAnswer;
}

/** With more columns, figures are not loaded. */
const NAMES_MAX = 200;

export function ColumnsTab({ run, query }: ColumnsProps) {
  const { column_names: names = [], column_types: types = [] } = run.result_metadata ?? {};
  // Where the names cannot be read, the rows say so; the first box that is ticked here writes them anew.
  const chosen = namesIn(parameter('columns')) ?? names;
  const meanings = new Map(Object.entries(query.column_descriptions ?? {}));
  const { columns, error } = useStatistics(run.execution_id, names.slice(0, NAMES_MAX));
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    const isAll = next.length === names.length && next.every((one, index) => one === names[index]);
    if (next.length > 0) change({ columns: isAll ? '' : columnsText(next) });
  };
  return (
    <section class="panel">
      <p class="hint">Of all rows of the result. Click a value, or drag over bars, to filter.</p>
      {error !== undefined && <FailedNotice error={error} />}
      <div class="scroll" tabIndex={0} role="region" aria-label="Columns">
        <table class="list columns">
          <thead>
            <tr>
              <th scope="col">Shown</th>
              <th scope="col">Column</th>
              <th scope="col" class="number">
                Nulls
              </th>
              <th scope="col" class="number">
                Different
              </th>
              <th scope="col">Spread</th>
              <th scope="col">Most frequent</th>
            </tr>
          </thead>
          <tbody>
            {names.map((name, index) => (
              <tr key={name}>
                <td>
                  <input
                    type="checkbox"
                    aria-label={`Show ${name}`}
                    checked={chosen.includes(name)}
                    onChange={() => toggle(name)}
                  />
                </td>
                <th scope="row">
                  <bdi>{name}</bdi>
                  <small>{types[index]}</small>
                  {meanings.get(name) !== undefined && <p class="about">{meanings.get(name)}</p>}
                </th>
                <ColumnFigures column={columns.get(name)} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
