/** Ends uploads in parts whose writer has died. The server keeps their parts, which no list of objects shows, and which cost money. */
import { AbortMultipartUploadCommand, ListMultipartUploadsCommand, type S3Client } from '@aws-sdk/client-s3';
import { isNoObject } from './unavailable.ts';

interface Place {
  readonly bucket: string;
  readonly prefix: string;
}

/** How many pages one call looks at, of up to 1000 uploads each. */
const PAGES_MAX = 100;

/** @throws the client's error where they may not be listed, or cannot be */
export async function requireUploadList(client: S3Client, { bucket, prefix }: Place): Promise<void> {
  await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, MaxUploads: 1 }));
}

/** @param isAbandoned given a key's folder, which ends in a slash @throws the client's error */
export async function abortUploads(
  client: S3Client,
  { bucket, prefix }: Place,
  isAbandoned: (folder: string) => Promise<boolean>,
): Promise<void> {
  let after: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {};
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const list = new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix, ...after });
    const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(list);
    for (const { Key = '', UploadId } of Uploads) {
      const key = Key.slice(prefix.length);
      if (!(await isAbandoned(key.slice(0, key.lastIndexOf('/') + 1)))) continue;
      // Another process may have ended it since.
      await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId })).catch((error: unknown) => {
        if (!isNoObject(error)) throw error;
      });
    }
    if (IsTruncated !== true) return;
    after = { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker };
  }
}
