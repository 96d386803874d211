/** From the service's parts to what publishing needs. */
import { mkdir } from 'node:fs/promises';
import { PART_LAYOUT, type PublishDependencies, type PublishOptions } from '../publishing/publish.ts';
import type { Service } from './service.ts';
import { tempBytesOfEach } from './spilling.ts';

export interface PublisherEffects {
  /** A new execution id. */
  readonly newId: () => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

export interface Publisher {
  readonly dependencies: PublishDependencies;
  readonly options: PublishOptions;
}

export async function publisherOf(service: Service, effects: PublisherEffects): Promise<Publisher> {
  const { settings, directories, clock, sleep } = service;
  // What is being written is as private as what is stored, also where the store is outside the data directory.
  await mkdir(directories.staging, { recursive: true, mode: 0o700 });
  return {
    dependencies: {
      catalog: await service.catalog(),
      store: await service.store(),
      stagingDirectory: directories.staging,
      memoryLimit: `${settings.publishMemoryBytes}B`,
      tempSizeMax: `${tempBytesOfEach(settings)}B`,
      clock,
      sleep,
      ...effects,
    },
    options: {
      ...PART_LAYOUT,
      resultBytesMax: settings.resultBytesMax,
      retentionDays: settings.retentionDays,
      leaseMillis: settings.leaseMillis,
    },
  };
}
