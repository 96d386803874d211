/**
 * Who holds a lease, as text that lets another process on the same host see whether the owner still lives: a killed
 * publisher's lease then ends at once and not when its time is over.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { hasCode } from '../errors/system-code.ts';

/** `host boot|pid namespace|pid|start of the process`. */
export function currentLeaseOwner(): string {
  return [thisHost(), pidNamespace(), process.pid, startOf(process.pid) ?? ''].join('|');
}

/** True only when it is certain: an owner elsewhere, or one that cannot be looked up, may be alive. */
export function isLeaseOwnerDead(owner: string): boolean {
  const [host, namespace, pid, start] = owner.split('|');
  if (host !== thisHost() || namespace !== pidNamespace() || pid === undefined || !/^[1-9][0-9]*$/.test(pid))
    return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return hasCode(error, 'ESRCH');
  }
  // The number may have gone to another process since.
  const found = startOf(Number(pid));
  return start !== undefined && start !== '' && found !== undefined && found !== start;
}

/** When the process started, in clock ticks since boot; undefined where there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may hold blanks; the start is field 22.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

/**
 * The name alone is not enough: machines made from one image have the same, and the first namespace of each has the same number. What the
 * kernel drew when it started tells them apart.
 */
function thisHost(): string {
  return `${hostname()} ${readFileOr('/proc/sys/kernel/random/boot_id')}`;
}

function readFileOr(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
