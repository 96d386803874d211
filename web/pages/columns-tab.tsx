/** The columns of a result: what they are called, their types and meanings, and which of them the table shows. */
import { change, parameter } from '../address.ts';
import type { QueryAnswer, RunStatus } from '../api/answers.ts';

import { columnsText, namesIn } from '../narrow/columns-text.ts';

interface ColumnsProps {
  readonly run: RunStatus;
  readonly query: QueryAnswer;
}

export function ColumnsTab({ run, query }: ColumnsProps) {
  const { column_names: names = [], column_types: types = [] } = run.result_metadata ?? {};
  const chosen = parameter('columns') === '' ? names : namesIn(parameter('columns'));
  const meanings = new Map(query.columns?.map(({ name, description }) => [name, description]));
  const toggle = (name: string) => {
    const next = chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
    const isAll = next.length === names.length && next.every((one, index) => one === names[index]);
    if (next.length > 0) change({ columns: isAll ? '' : columnsText(next) });
  };
  return (
    <section class="panel">
      <div class="scroll" tabIndex={0} role="region" aria-label="Columns">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Shown</th>
              <th scope="col">Column</th>
              <th scope="col">Type</th>
              <th scope="col">Meaning</th>
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
                </th>
                <td class="mono">{types[index]}</td>
                <td>{meanings.get(name)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
