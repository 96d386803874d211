/** The reason with which a request's signal aborts when its client has left: no fault of anybody, and no error to report. */
export class ClientGone extends Error {
  constructor() {
    super('the client has gone');
  }
}

/** Whether the client's leaving is what ended the work, also where a library has wrapped the reason in an error of its own. */
export function isClientGone(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof ClientGone) return true;
  return false;
}
