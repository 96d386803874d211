/** `Content-Digest` (RFC 9530): hashes of the body as it is sent, by which the service sees that it has what was meant. */
import { createHash, type Hash } from 'node:crypto';
import { RequestError } from '../../errors/errors.ts';

const ALGORITHMS = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const;
type Algorithm = keyof typeof ALGORITHMS;

/** A member of the dictionary (RFC 9651): a key, and bytes in base64. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;

export class ContentDigest {
  readonly #expected: readonly { readonly algorithm: Algorithm; readonly digest: string; readonly hash: Hash }[];

  /**
   * @param header undefined: nothing is checked
   * @throws RequestError invalid_digest
   */
  constructor(header: string | undefined) {
    const members = header?.split(',').map((member) => readMember(member.trim())) ?? [];
    this.#expected = members.flatMap(({ name, digest }) =>
      isKnown(name) ? [{ algorithm: name, digest, hash: createHash(ALGORITHMS[name]) }] : [],
    );
    if (members.length > 0 && this.#expected.length === 0) throw invalid(header ?? '');
  }

  update(chunk: Uint8Array): void {
    for (const { hash } of this.#expected) hash.update(chunk);
  }

  /** @throws RequestError digest_mismatch */
  verify(): void {
    for (const { algorithm, digest, hash } of this.#expected) {
      const found = hash.digest('base64');
      if (found === digest) continue;
      const message = `Content-Digest: the body that arrived has ${algorithm}=:${found}:, expected ${algorithm}=:${digest}:; nothing was changed`;
      throw new RequestError('digest_mismatch', message);
    }
  }
}

function readMember(member: string): { readonly name: string; readonly digest: string } {
  const [, name, digest] = MEMBER.exec(member) ?? [];
  if (name === undefined || digest === undefined) throw invalid(member);
  return { name, digest };
}

function isKnown(name: string): name is Algorithm {
  return Object.hasOwn(ALGORITHMS, name);
}

function invalid(found: string): RequestError {
  const names = Object.keys(ALGORITHMS).join(' or ');
  return new RequestError(
    'invalid_digest',
    `Content-Digest: found "${found.slice(0, 60)}", expected ${names}, as in sha-256=:base64:`,
  );
}
