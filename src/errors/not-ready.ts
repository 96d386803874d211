/** Why the service cannot do its work at this moment, in words that anybody may read: no path, no address. */
export class NotReady extends Error {}
