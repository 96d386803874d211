/** The names of columns, which every kind of file may give more than once, and a result may not. */
import { PublishError } from '../publish-error.ts';

/** As many as there may be keys in JSON. Statements of more take minutes to plan. */
const COLUMNS_MAX = 10_000;
/** A file may give one name half a million times. */
const SHOWN_MAX = 20;

/** @param where what the error begins with @throws PublishError when two columns have one name, or there are too many */
export function checkNames(names: readonly string[], where = ''): void {
  checkCount(names.length, where);
  const places = new Map<string, number[]>();
  for (const [index, name] of names.entries()) {
    const columns = places.get(name);
    if (columns === undefined) places.set(name, [index + 1]);
    else columns.push(index + 1);
  }
  for (const [name, columns] of places) {
    if (columns.length === 1) continue;
    const shown = columns.slice(0, SHOWN_MAX).join(', ');
    const more = columns.length > SHOWN_MAX ? ' …' : '';
    throw new PublishError(
      `${where}the column name ${JSON.stringify(name)} is given ${columns.length} times (columns ${shown}${more}), expected each once`,
    );
  }
}

/** @throws PublishError when there are too many to go on counting */
export function checkCount(columns: number, where = ''): void {
  if (columns > COLUMNS_MAX) throw new PublishError(`${where}more than ${COLUMNS_MAX} columns`);
}
