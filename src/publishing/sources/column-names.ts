/** The names of columns, which every kind of file may give more than once, and a result may not. */
import { PublishError } from '../publish-error.ts';

/** @param where what the error begins with @throws PublishError when two columns have one name */
export function checkNames(names: readonly string[], where = ''): void {
  const places = new Map<string, number[]>();
  for (const [index, name] of names.entries()) places.set(name, [...(places.get(name) ?? []), index + 1]);
  for (const [name, columns] of places) {
    if (columns.length === 1) continue;
    throw new PublishError(
      `${where}the column name ${JSON.stringify(name)} is given ${columns.length} times (columns ${columns.join(', ')}), expected each once`,
    );
  }
}
