/** The API's address of rows: those of a run, or what changed in it since another run. */

/** @param since '' for the rows of the run itself */
export function rowsPath(executionId: string, since: string): string {
  const path = `/v1/execution/${encodeURIComponent(executionId)}`;
  return since === '' ? `${path}/results` : `${path}/diff/${encodeURIComponent(since)}`;
}
