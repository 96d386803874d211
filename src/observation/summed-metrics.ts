/**
 * Metrics that every request adds to. They are summed here and told to the registry when somebody asks: a request adds to six counters and
 * a histogram, and prom-client checks and hashes the labels each time. The histogram alone took a twelfth of what a page from the
 * response cache takes in all.
 */
import { Counter, Histogram, type Registry } from 'prom-client';
import { entry } from './entry.ts';

/** A counter without labels. */
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

/** A counter by one label or two. */
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
  /** How many fell into each bucket and into none before it; at the end those above all of them. */
  readonly counts: number[];
  seconds: number;
}

/** A histogram by one label. @param bounds the buckets' upper ends in seconds, ascending */
export function timedBy(
  name: string,
  help: string,
  label: string,
  bounds: readonly number[],
  registry: Registry,
): (value: string, seconds: number) => void {
  const timesOf = new Map<string, Times>();
  const valuesOf = ([value, { counts, seconds }]: [string, Times]) => {
    const labels = { [label]: value };
    let count = 0;
    const buckets = [...bounds, '+Inf'].map((le, index) => {
      count += counts[index] ?? 0;
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    const sum = { metricName: `${name}_sum`, labels, value: seconds };
    return [...buckets, sum, { metricName: `${name}_count`, labels, value: count }];
  };
  const histogram = new Histogram({ name, help, labelNames: [label], buckets: [...bounds], registers: [registry] });
  // A histogram can be told one value at a time, and no sums. This is what it is asked for when somebody asks the registry.
  const getForPromString = async () => ({
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    values: [...timesOf].flatMap(valuesOf),
  });
  // Asked for by the registry's text, and by its data.
  Object.assign(histogram, { getForPromString, get: getForPromString });
  return (value, seconds) => {
    const times = entry(timesOf, value, () => ({ counts: new Array(bounds.length + 1).fill(0), seconds: 0 }));
    let index = 0;
    while (seconds > (bounds[index] ?? Number.POSITIVE_INFINITY)) index += 1;
    times.counts[index] = (times.counts[index] ?? 0) + 1;
    times.seconds += seconds;
  };
}
