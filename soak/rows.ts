/**
 * What the soak publishes: rows made by a formula, so that each answer can be checked cell by cell without keeping any rows. Every row
 * has the number of its run, since the latest run may change between the request and the answer.
 */

/** One published run: its number stands in every row. */
export interface Run {
  readonly queryId: number;
  readonly number: number;
  readonly rowCount: number;
}

export interface Row {
  readonly id: number;
  readonly run: number;
  readonly bucket: number;
  readonly name: string;
  /** A decimal, so text in JSON. */
  readonly amount: string;
  readonly note: string | null;
}

export const TYPES = 'id=bigint,run=bigint,bucket=bigint,name=varchar,amount=decimal(12,2),note=varchar';
export const HEADER = 'id,run,bucket,name,amount,note';
export const BUCKETS = 1000;

export function rowAt(run: number, id: number): Row {
  const bucket = (id * 7919 + run * 104_729) % BUCKETS;
  const cents = (id * 31 + run * 17) % 1_000_000;
  const amount = `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
  return { id, run, bucket, name: `name ${bucket}`, amount, note: id % 5 === 0 ? null : `run ${run}, "row" ${id}` };
}

export function csvLine({ id, run, bucket, name, amount, note }: Row): string {
  return `${id},${run},${bucket},${name},${amount},${note === null ? '' : `"${note.replaceAll('"', '""')}"`}`;
}

export function* csvOf({ number, rowCount }: Run): Generator<string> {
  yield `${HEADER}\n`;
  for (let from = 0; from < rowCount; from += 1000) {
    const ids = Array.from({ length: Math.min(1000, rowCount - from) }, (_, n) => from + n);
    yield ids.map((id) => `${csvLine(rowAt(number, id))}\n`).join('');
  }
}

/** Ids of the rows in a bucket, in stored order. */
export function idsInBucket({ number, rowCount }: Run, bucket: number): readonly number[] {
  const found: number[] = [];
  for (let id = 0; id < rowCount; id += 1) {
    if ((id * 7919 + number * 104_729) % BUCKETS === bucket) found.push(id);
  }
  return found;
}

/** Ids from `offset` on, of all rows by bucket, the highest first, ties as stored. */
export function idsByBucketDown(run: Run, offset: number, count: number): readonly number[] {
  const found: number[] = [];
  let before = 0;
  for (let bucket = BUCKETS - 1; bucket >= 0 && found.length < count; bucket -= 1) {
    const ids = idsInBucketByStep(run, bucket);
    const skipped = Math.max(0, offset - before);
    before += ids.length;
    found.push(...ids.slice(skipped, skipped + count - found.length));
  }
  return found;
}

/** As `idsInBucket`: 7919 and 1000 have no common divisor, so a bucket has each thousandth row. */
function idsInBucketByStep({ number, rowCount }: Run, bucket: number): readonly number[] {
  const ids: number[] = [];
  for (let id = 0; id < Math.min(BUCKETS, rowCount); id += 1) {
    if ((id * 7919 + number * 104_729) % BUCKETS !== bucket) continue;
    for (let at = id; at < rowCount; at += BUCKETS) ids.push(at);
    break;
  }
  return ids;
}
