import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ulid } from 'ulid';
import type { ResultSet } from '../domain/result-set.ts';
import { StartupError } from '../errors/startup-error.ts';
import type { StoredObject } from '../store/result-store.ts';
import { type CatalogAndStore, requireJoined } from './installation.ts';

type Look = 'catalog' | 'store' | 'results' | 'objects';

/** A catalog and a store that another process uses for the first time, too, just before one of our looks. */
class FirstUse {
  ofCatalog: string | undefined;
  ofStore: string | undefined;
  readonly objects: StoredObject[] = [];
  /** What the other process does, once. */
  other: { readonly before: Look; readonly does: () => void } | undefined;

  get both(): CatalogAndStore {
    const catalog = {
      installation: {
        findId: async () => this.#look('catalog', () => this.ofCatalog),
        initializeId: async (id: string) => {
          this.ofCatalog ??= id;
          return this.ofCatalog;
        },
      },
      executions: { listStored: async () => this.#look('results', (): readonly { resultSet: ResultSet }[] => []) },
    };
    const objects = () => this.#look('objects', () => this.objects);
    const store = {
      findInstallation: async () => this.#look('store', () => this.ofStore),
      setInstallation: async (id: string) => {
        this.ofStore = id;
      },
      async *list() {
        yield* objects();
      },
    };
    return { catalog, store } as unknown as CatalogAndStore;
  }

  #look<T>(at: Look, seen: () => T): T {
    const { other } = this;
    if (other?.before === at) {
      this.other = undefined;
      other.does();
    }
    return seen();
  }
}

function joinedBy(use: FirstUse, id: string): void {
  use.ofCatalog = id;
  use.ofStore = id;
}

for (const before of ['catalog', 'store', 'results', 'objects'] as const) {
  test(`another process joins them just before we look at the ${before}: both go on, under its id`, async () => {
    const use = new FirstUse();
    use.other = { before, does: () => joinedBy(use, 'theirs') };
    await requireJoined(use.both, () => 'ours');
    assert.deepEqual([use.ofCatalog, use.ofStore], ['theirs', 'theirs']);
  });
}

test('another process joins them and stores a result after we found none in the catalog', async () => {
  const use = new FirstUse();
  const does = () => {
    joinedBy(use, 'theirs');
    use.objects.push({ key: `${ulid()}/1/part-00000.parquet`, objectBytes: 1, modifiedAt: 0 });
  };
  use.other = { before: 'objects', does };
  await requireJoined(use.both, () => 'ours');
  assert.deepEqual([use.ofCatalog, use.ofStore], ['theirs', 'theirs']);
});

test('what another process joined to a catalog of its own is refused', async () => {
  const use = new FirstUse();
  const does = () => {
    use.ofStore = 'theirs';
  };
  use.other = { before: 'store', does };
  await assert.rejects(
    requireJoined(use.both, () => 'ours'),
    (error) =>
      error instanceof StartupError &&
      error.message.startsWith(
        'the catalog and the store do not belong together: the store is that of installation theirs, the catalog of none yet;',
      ),
  );
  assert.equal(use.ofCatalog, undefined);
});
