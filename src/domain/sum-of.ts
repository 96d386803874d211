/** The sum of what each of them has under the name. */
export function sumOf<Name extends string>(all: Iterable<Readonly<Record<Name, number>>>, name: Name): number {
  let sum = 0;
  for (const one of all) sum += one[name];
  return sum;
}
