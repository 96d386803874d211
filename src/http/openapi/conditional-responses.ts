/** The answers to requests with `If-None-Match` and `Range`. */
import { type Fragment, refTo } from './schema.ts';

export const UNCHANGED: Fragment = {
  description: 'The answer is still the one whose `ETag` was sent in `If-None-Match`.',
};

export const PARTIAL: Fragment = {
  description:
    'The bytes asked for with `Range`: `bytes=1000-`, `bytes=0-999`, `bytes=-100` (the last ones). If the `ETag` in `If-Range` is no longer right or of an answer that was compressed while it was read, and for several ranges at once, the whole answer comes with 200.',
  headers: { 'Content-Range': refTo('headers', 'Content-Range') },
  content: { '*/*': {} },
};
