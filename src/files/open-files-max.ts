/** How many files and connections the process may have open at a time (`ulimit -n`; Node raises it as far as it may). */
import process from 'node:process';

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | 'unlimited' } };
}

/** @returns Infinity where there is no limit, or none that is told */
export function openFilesMax(): number {
  // The types do not know of it yet.
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork: boolean };
  // Names of hosts are of no interest here, and may take seconds to be looked up.
  const was = report.excludeNetwork;
  report.excludeNetwork = true;
  try {
    const { userLimits } = report.getReport() as Report;
    const soft = userLimits?.open_files?.soft;
    return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
  } finally {
    report.excludeNetwork = was;
  }
}
