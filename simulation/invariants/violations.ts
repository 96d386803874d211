/** A sentence that must always be true, found to be false. */
export class InvariantViolated extends Error {
  override readonly name: string = 'InvariantViolated';
  readonly sentence: string;

  constructor(sentence: string, found: string) {
    super(`${sentence} Found: ${found}`);
    this.sentence = sentence;
  }
}

/** Keeps the first violation; the simulation stops at it. */
export class Violations {
  first: InvariantViolated | undefined;

  found(sentence: string, found: string): void {
    this.first ??= new InvariantViolated(sentence, found);
  }
}
