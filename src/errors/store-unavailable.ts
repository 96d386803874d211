/** The store cannot be asked at the moment, after all retries. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
}
