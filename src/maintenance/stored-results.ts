/** Every run with a stored result, in id order. */
import type { Executions } from '../catalog/catalog.ts';

/** So many manifests are read from the catalog at a time. */
const STEP = 100;

export async function* storedResults(executions: Pick<Executions, 'listStored'>) {
  for (let afterId = ''; ; ) {
    const stored = await executions.listStored(afterId, STEP);
    const last = stored.at(-1);
    if (last === undefined) return;
    afterId = last.id;
    yield* stored;
  }
}
