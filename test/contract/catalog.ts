/**
 * What every catalog must do, whatever its database. There is a suite for each section of the interface. Each implementation
 * runs all of them from a test file of its own (sqlite-catalog.test.ts).
 */
import { suite } from 'node:test';
import { browsingContract } from './catalog/browsing.ts';
import { executionsContract } from './catalog/executions.ts';
import type { CatalogFactory } from './catalog/fixture.ts';
import { idempotencyKeysContract } from './catalog/idempotency-keys.ts';
import { installationContract } from './catalog/installation.ts';
import { latestContract } from './catalog/latest.ts';
import { latestLaw } from './catalog/latest-law.ts';
import { leasesContract } from './catalog/leases.ts';
import { principalsContract } from './catalog/principals.ts';
import { queriesContract } from './catalog/queries.ts';
import { replicasContract } from './catalog/replicas.ts';
import { runsContract } from './catalog/runs.ts';
import { sharingContract } from './catalog/sharing.ts';
import { statesContract } from './catalog/states.ts';
import { usageContract } from './catalog/usage.ts';
import { webhooksContract } from './catalog/webhooks.ts';

export function catalogContract(name: string, prepare: CatalogFactory): void {
  suite(`${name} is a catalog`, () => {
    suite('principals', () => principalsContract(prepare));
    suite('queries', () => queriesContract(prepare));
    suite('executions', () => executionsContract(prepare));
    suite('the state table', () => statesContract(prepare));
    suite('the latest run', () => latestContract(prepare));
    suite('the law of the latest run', () => latestLaw(prepare));
    suite('leases and ticks', () => leasesContract(prepare));
    suite('browsing', () => browsingContract(prepare));
    suite('runs', () => runsContract(prepare));
    suite('replicas', () => replicasContract(prepare));
    suite('usage', () => usageContract(prepare));
    suite('transactions and idempotency keys', () => idempotencyKeysContract(prepare));
    suite('webhooks', () => webhooksContract(prepare));
    suite('the installation', () => installationContract(prepare));
    suite('two processes on one catalog', () => sharingContract(prepare));
  });
}
