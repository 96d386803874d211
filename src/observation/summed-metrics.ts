/**
 * Metrics that every request adds to, summed by ourselves and told to the registry when somebody asks: checking and hashing the
 * labels each time costs more than everything else that is done for a page sent again.
 */
import { Counter, type Metric, type Registry } from 'prom-client';
import { entry } from './entry.ts';

/** A counter that is told when somebody asks: until then, adding to it costs an addition. */
export function summed(name: string, help: string, registry: Registry): (by: number) => void {
  let sum = 0;
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.inc(sum);
      sum = 0;
    },
  });
  return (by) => {
    sum += by;
  };
}

/** Counts by one label or two, likewise. */
export function countedBy(
  name: string,
  help: string,
  labelNames: readonly [string] | readonly [string, string],
  registry: Registry,
): (first: string, second?: number) => void {
  const counts = new Map<string, Map<number | undefined, number>>();
  const [firstName, secondName] = labelNames;
  new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [registry],
    collect() {
      for (const [first, bySecond] of counts) {
        for (const [second, count] of bySecond) {
          const labels = secondName === undefined || second === undefined ? {} : { [secondName]: second };
          this.inc({ [firstName]: first, ...labels }, count);
        }
      }
      counts.clear();
    },
  });
  return (first, second) => {
    const bySecond = entry(counts, first, () => new Map<number | undefined, number>());
    bySecond.set(second, (bySecond.get(second) ?? 0) + 1);
  };
}

interface Times {
  /** How many fell into each bucket and no earlier one; at the end those above all of them. */
  readonly counts: number[];
  seconds: number;
}

/** A histogram by one label, likewise. @param bounds the buckets' upper ends in seconds, ascending */
export function timedBy(
  name: string,
  help: string,
  label: string,
  bounds: readonly number[],
  registry: Registry,
): (value: string, seconds: number) => void {
  const timesOf = new Map<string, Times>();
  const valuesOf = ([value, { counts, seconds }]: [string, Times]) => {
    let count = 0;
    const buckets = [...bounds, '+Inf'].map((le, index) => {
      count += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, [label]: value }, value: count };
    });
    const labels = { [label]: value };
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: seconds },
      { metricName: `${name}_count`, labels, value: count },
    ];
  };
  const histogram = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: async () => ({ ...histogram, values: [...timesOf].flatMap(valuesOf) }),
  };
  // What a registry asks of a metric is its name and `get`.
  registry.registerMetric(histogram as unknown as Metric);
  return (value, seconds) => {
    const times = entry(timesOf, value, () => ({ counts: new Array(bounds.length + 1).fill(0), seconds: 0 }));
    let index = 0;
    while (seconds > (bounds[index] ?? Number.POSITIVE_INFINITY)) index += 1;
    times.counts[index] = (times.counts[index] ?? 0) + 1;
    times.seconds += seconds;
  };
}
