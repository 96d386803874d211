/** What we use of the package `negotiator`, whose published types lack the order of preference. */
declare module 'negotiator' {
  class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> });
    /** Of those available the ones that are accepted, most wanted first. */
    mediaTypes(available: readonly string[]): string[];
    /** @param options `preferred`: ours to choose among equals */
    encodings(available: readonly string[], options?: { readonly preferred: readonly string[] }): string[];
  }
  export = Negotiator;
}
