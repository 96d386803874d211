/** All objects below a prefix of a bucket, page by page. */
import { ListObjectsV2Command, type ListObjectsV2CommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { NEVER } from '../../domain/time.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { asUnavailable } from './unavailable.ts';

type Listed = NonNullable<ListObjectsV2CommandOutput['Contents']>[number];

/** @throws StoreUnavailable where the list is cut short or never ends: an object that was not listed must not be taken for gone */
export async function* listObjects(
  client: S3Client,
  place: { readonly Bucket: string; readonly Prefix: string },
): AsyncGenerator<Listed> {
  const asked = new Set<string>();
  for (let token: string | undefined; ; ) {
    const command = new ListObjectsV2Command({ ...place, ...(token !== undefined && { ContinuationToken: token }) });
    const page = await client.send(command).catch((error: unknown) => {
      throw asUnavailable(error, NEVER);
    });
    yield* page.Contents ?? [];
    token = page.NextContinuationToken;
    if (token === undefined && page.IsTruncated !== true) return;
    if (token === undefined) throw new StoreUnavailable('the store of results does not list all of its objects');
    if (asked.has(token)) throw new StoreUnavailable('the store of results lists the same objects again and again');
    asked.add(token);
  }
}
