/** What is wrong with the input of a publish. Nothing was changed; `message` says where and what was found. */
export class PublishError extends Error {
  override readonly name: string = 'PublishError';
}
