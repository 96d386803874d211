/** Adds up what the settings let the process take, and holds it against what there is. */
import { formatMemorySum, type MemorySettings, memorySum, REST_BYTES_MIN } from '../../settings/memory.ts';
import type { Finding } from './finding.ts';

/** @param machineBytes of the machine or its cgroup */
export function examineMemory(settings: MemorySettings, machineBytes = Number.MAX_SAFE_INTEGER): Finding {
  const check = 'memory';
  const sum = memorySum(settings);
  const found = formatMemorySum(sum);
  if (sum.memoryBytes > machineBytes) {
    const advice = `the machine, or its cgroup, has ${Math.round(machineBytes / 1e6)} MB: lower QRS_MEMORY`;
    return { check, status: 'warning', found, advice };
  }
  if (sum.restBytes < REST_BYTES_MIN) {
    const advice = `the process itself takes about ${REST_BYTES_MIN / 1e6} MB: raise QRS_MEMORY, or lower the settings that are not shares of it`;
    return { check, status: 'warning', found, advice };
  }
  return { check, status: 'ok', found };
}
