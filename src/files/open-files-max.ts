/** How many files and connections the process may have open at a time (`ulimit -n`; Node raises it as far as it may). */
import { readFileSync } from 'node:fs';
import process from 'node:process';

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | 'unlimited' } };
}

/** @returns Infinity where there is no limit, or none that is told */
export function openFilesMax(): number {
  const soft = softLimitOfLinux() ?? softLimitOfReport();
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}

function softLimitOfLinux(): number | 'unlimited' | undefined {
  try {
    const soft = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined || soft === 'unlimited' ? soft : Number(soft);
  } catch {
    // Other systems have no such file.
    return undefined;
  }
}

/** On every system, but it takes 80 ms, in which nothing else happens. */
export function softLimitOfReport(): number | 'unlimited' | undefined {
  // The types do not know of it yet.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean };
  // Names of hosts are of no interest here, and may take seconds to be looked up.
  const was = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    return (report.getReport() as Report).userLimits?.open_files?.soft;
  } finally {
    report.excludeNetwork = was;
  }
}
