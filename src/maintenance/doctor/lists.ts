/** Looks whether a store in S3 may be listed: that is a right of its own, and only sweeps ask for it, hours after a start. */
import type { Service } from '../../compose/service.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import type { Finding } from './finding.ts';

export const LISTS = 'lists of the store';

export async function examineLists(service: Pick<Service, 'storeAlone'>): Promise<Finding> {
  const store = await service.storeAlone();
  const [objects, uploads] = [await failureOf(store.checkList('objects')), await failureOf(store.checkList('uploads'))];
  if (objects !== undefined) {
    return {
      check: LISTS,
      status: 'wrong',
      found: `what is stored cannot be listed: ${objects.message}`,
      advice: 'give the key of the bucket `s3:ListBucket`; until then no sweep deletes anything from the store',
    };
  }
  if (uploads !== undefined) {
    return {
      check: LISTS,
      status: 'warning',
      found: `uploads that nobody finished cannot be listed: ${uploads.message}`,
      advice:
        'give the key of the bucket `s3:ListBucketMultipartUploads`; until then sweeps delete all else and end with an error. A lifecycle rule of the bucket deletes such uploads where the server has no list of them',
    };
  }
  return { check: LISTS, status: 'ok', found: 'what is stored, and uploads that nobody finished, can be listed' };
}

/** Why it is refused. @throws StoreUnavailable: that it cannot be reached says nothing of what it allows */
async function failureOf(asked: Promise<void>): Promise<Error | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    return error instanceof Error ? error : new Error(String(error));
  }
}
