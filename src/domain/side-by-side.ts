/** Pieces of work side by side, a few at a time. */

/** Does the work for each item, begun in their order. After a failure no more are begun. @throws the first failure */
export async function sideBySide<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const goOn = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      try {
        await work(item);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, goOn));
}
