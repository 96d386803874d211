/** A text that the catalog's database has no place for. */
export class TextRefused extends Error {
  override readonly name: string = 'TextRefused';
}
