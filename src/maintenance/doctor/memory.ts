/** Adds up what the settings let the process take, and holds it against what there is. */
import { divideSettings } from '../../settings/divide-settings.ts';
import { formatMemorySum, memorySum, REST_BYTES_MIN } from '../../settings/memory.ts';
import type { Settings } from '../../settings/settings.ts';
import { workerCount } from '../../settings/worker-count.ts';
import { type Finding, wrong } from './finding.ts';

/** @param machineBytes of the machine or its cgroup */
export function examineMemory(settings: Settings, machineBytes = Number.MAX_SAFE_INTEGER): Finding {
  const check = 'memory';
  const workers = workerCount(settings);
  try {
    divideSettings(settings, workers);
  } catch (error) {
    // With these the service does not start.
    return wrong(check, error);
  }
  const sum = memorySum(settings);
  const found = `${formatMemorySum(sum)}${workers > 1 ? `, of ${workers} workers together` : ''}`;
  if (sum.memoryBytes > machineBytes) {
    const advice = `the machine, or its cgroup, has ${Math.round(machineBytes / 1e6)} MB: lower QRS_MEMORY`;
    return { check, status: 'warning', found, advice };
  }
  if (sum.restBytes < workers * REST_BYTES_MIN) {
    const each = workers > 1 ? 'each process' : 'the process';
    const other = workers > 1 ? 'have fewer QRS_WORKERS' : 'lower the settings that are not shares of it';
    const advice = `${each} itself takes about ${REST_BYTES_MIN / 1e6} MB: raise QRS_MEMORY, or ${other}`;
    return { check, status: 'warning', found, advice };
  }
  return { check, status: 'ok', found };
}
