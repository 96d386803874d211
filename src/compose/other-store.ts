/** A store beside that of the settings, for as long as something is copied to it. */
import { StartupError } from '../errors/startup-error.ts';
import { findOverlap } from '../files/overlap.ts';
import type { StoreLocation } from '../settings/location.ts';
import type { ResultStore } from '../store/result-store.ts';
import { openService, type Service } from './service.ts';

export interface OtherStore extends AsyncDisposable {
  readonly store: ResultStore;
  /** Where what becomes objects of it is prepared. */
  readonly stagingDirectory: string;
}

/** @throws StartupError where it overlaps what is there already */
export async function openOtherStore(service: Service, store: StoreLocation): Promise<OtherStore> {
  const { settings, directories } = service;
  const other = await openService({ ...settings, store }, service);
  const [here, there] = [
    { name: 'the store', path: directories.results },
    { name: 'the other store', path: other.directories.results },
  ];
  const overlap =
    store.kind === 's3' ? undefined : ((await findOverlap([here], [there])) ?? (await findOverlap([there], [here])));
  if (overlap !== undefined) {
    await other[Symbol.asyncDispose]();
    throw new StartupError(`the other store, ${there.path}, overlaps ${here.path}: give it a place of its own`);
  }
  return {
    store: await other.storeAlone(),
    stagingDirectory: other.directories.staging,
    [Symbol.asyncDispose]: async () => await other[Symbol.asyncDispose](),
  };
}
