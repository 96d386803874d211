/** Puts other bytes in the place of a stored object, as no store does by itself. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResultStore } from '../../src/store/result-store.ts';

/** @param folder for a file of these bytes, on the disk of the store */
export async function replaceObject(
  store: ResultStore,
  folder: string,
  key: string,
  bytes: string | Uint8Array,
): Promise<void> {
  const path = join(folder, 'other-bytes');
  await writeFile(path, bytes);
  assert.deepEqual(await store.delete([key]), [], `${key} is open`);
  await store.put(key, path, new AbortController().signal);
}
