/**
 * Where an object lies below the root folder. Keys are made by us, yet each is checked: a key can never name a file outside the
 * root, whatever a damaged manifest says.
 */
import { join } from 'node:path';

const SEGMENT = /^[0-9A-Za-z._-]{1,200}$/;
/** No key has more, so no object lies deeper. */
export const SEGMENTS_MAX = 8;

/** A folder in the root that holds no objects: files that are to become objects are prepared there, and then renamed into their places. */
export const STAGING = 'staging';

/** A file in the root, and no object: it says which installation the store belongs to. */
export const INSTALLATION = 'installation.txt';

class KeyInvalid extends Error {}

/**
 * The absolute path of the object `key`, or of the folder `prefix` when it ends in a slash.
 * @throws KeyInvalid naming the key and what a key looks like.
 */
export function objectPath(root: string, key: string): string {
  const segments = (key.endsWith('/') ? key.slice(0, -1) : key).split('/');
  const valid = segments.length <= SEGMENTS_MAX && segments.every(isKeySegment);
  if (!valid) {
    throw new KeyInvalid(
      `object key ${JSON.stringify(key.slice(0, 300))} is not valid: expected at most ${SEGMENTS_MAX} segments of [0-9A-Za-z._-] joined by slashes`,
    );
  }
  return join(root, ...segments);
}

/** Whether a key may have this between two slashes. */
export function isKeySegment(name: string): boolean {
  return SEGMENT.test(name) && name !== '.' && name !== '..';
}
