/** What the sender could have said about the file, with examples. Each surface adds its own option for it to the message. */
export type Remedy =
  | { readonly say: 'encoding'; readonly examples: readonly ('latin-1' | 'windows-1252' | 'utf-16')[] }
  | { readonly say: 'types'; readonly declaration: string };

/**
 * Why a publish failed that could not have succeeded. Nothing was changed; `message` says where and what was found.
 */
export class PublishError extends Error {
  override readonly name: string = 'PublishError';
  /**
   * `input`: what was handed in is wrong. `archived`: the query takes no runs. `busy`: another process publishes this run. `full`: a disk
   * is. `no_room`: others take the disk that there is for what is being published. `too_large`: it would not suffice for this one alone.
   */
  readonly kind: 'input' | 'archived' | 'busy' | 'full' | 'no_room' | 'too_large';

  readonly remedy: Remedy | undefined;

  constructor(
    message: string,
    options: ErrorOptions & { readonly kind?: PublishError['kind']; readonly remedy?: Remedy } = {},
  ) {
    super(message, options);
    this.kind = options.kind ?? 'input';
    this.remedy = options.remedy;
  }
}
