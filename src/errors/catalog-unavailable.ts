/** The database of the catalog does not answer at the moment. What was asked for was not done, or, of a write, may have been. */
export class CatalogUnavailable extends Error {
  override readonly name: string = 'CatalogUnavailable';
}
