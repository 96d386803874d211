/** The reason of a request's signal when its client has left. It is no error to report. */
export class ClientGone extends Error {
  constructor() {
    super('the client has gone');
  }
}

/** Whether the work ended because the client left. A library may have wrapped that reason in an error of its own. */
export function isClientGone(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof ClientGone) return true;
  return false;
}
