/**
 * What would have helped the service to read the file, if the sender had said it; with examples. The command and the HTTP API each add to the
 * message how it is said there.
 */
export type Remedy =
  | { readonly say: 'encoding'; readonly examples: readonly ('latin-1' | 'windows-1252' | 'utf-16')[] }
  | { readonly say: 'types'; readonly declaration: string };

/** Why nothing was published, and nothing was changed. The message says where, and what was found. */
export class PublishError extends Error {
  override readonly name: string = 'PublishError';
  /**
   * `input`: what was handed in is wrong. `archived`: the query takes no runs. `busy`: another process publishes this run. `full`: a disk is
   * full. `no_room`: other results that are being published take the disk space. `too_large`: this one alone would need more than there is.
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
