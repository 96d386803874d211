/** What is needed for an answer cannot be made, since the folder for it cannot be used. The message names the folder, and is for the log. */
export class WorkspaceUnavailable extends Error {
  override readonly name: string = 'WorkspaceUnavailable';
}

/** What had been made is gone, or is not what was made: somebody has cleared its folder, or written into it. It can be made anew. */
export class MadeIsGone extends WorkspaceUnavailable {
  override readonly name: string = 'MadeIsGone';
}
