/**
 * What processes that have ended leave to the sums of metrics. Without it a sum would fall when a process ends: Prometheus takes a counter that
 * falls for one that began anew, and adds all of it again.
 */

/** A metric as `collect` gives it. */
interface Collected {
  readonly name: string;
  readonly type: string;
  readonly aggregator: string;
  readonly values: readonly CollectedValue[];
}

interface CollectedValue {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * What a process that ended leaves to the sums: what it had counted. Its gauges end with it.
 * @param ended what others left that ended before it, in the form of `collect`
 * @param last what `collect` gave in it last
 */
export function countsOfEnded(ended: unknown, last: unknown): unknown {
  const counts = new Map<string, Collected>();
  for (const metric of [...((ended ?? []) as readonly Collected[]), ...(last as readonly Collected[])]) {
    if (metric.aggregator !== 'sum' || !(metric.type === 'counter' || metric.type === 'histogram')) continue;
    const values = [...(counts.get(metric.name)?.values ?? []), ...metric.values];
    counts.set(metric.name, { ...metric, values: addedUp(values) });
  }
  return [...counts.values()];
}

function addedUp(values: readonly CollectedValue[]): readonly CollectedValue[] {
  const sums = new Map<string, CollectedValue>();
  for (const one of values) {
    const labels = Object.entries(one.labels).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const series = JSON.stringify([one.metricName, labels]);
    sums.set(series, { ...one, value: (sums.get(series)?.value ?? 0) + one.value });
  }
  return [...sums.values()];
}
