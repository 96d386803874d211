/**
 * `Content-Digest` (RFC 9530): hashes of the body as it is sent. With them the service checks that the body arrived unchanged.
 */
import { createHash, type Hash } from 'node:crypto';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';

const ALGORITHMS = { 'sha-256': { hash: 'sha256', bytes: 32 }, 'sha-512': { hash: 'sha512', bytes: 64 } } as const;
type Algorithm = keyof typeof ALGORITHMS;

/** A member of the dictionary (RFC 9651): a key, and bytes in base64. */
const MEMBER = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):$/;

export class ContentDigest {
  /** At most one of each algorithm. */
  readonly #expected: readonly { readonly algorithm: Algorithm; readonly digest: Buffer; readonly hash: Hash }[];

  /**
   * @param header undefined: nothing is checked
   * @throws RequestError invalid_digest
   */
  constructor(header: string | undefined) {
    const members = header?.split(',').map((member) => readMember(member.trim())) ?? [];
    // Where a key comes twice in a dictionary, the last one counts.
    const digests = new Map(members.map(({ name, digest }) => [name, digest]));
    this.#expected = [...digests].flatMap(([name, digest]) => (isKnown(name) ? [expectedOf(name, digest)] : []));
    if (members.length > 0 && this.#expected.length === 0) throw invalid(header ?? '');
  }

  update(chunk: Uint8Array): void {
    for (const { hash } of this.#expected) hash.update(chunk);
  }

  /** @throws RequestError digest_mismatch */
  verify(): void {
    for (const { algorithm, digest, hash } of this.#expected) {
      const found = hash.digest();
      if (found.equals(digest)) continue;
      const [has, expected] = [found, digest].map((bytes) => `${algorithm}=:${bytes.toString('base64')}:`);
      const message = `Content-Digest: the body that arrived has ${has}, expected ${expected}; nothing was changed`;
      throw new RequestError('digest_mismatch', message);
    }
  }
}

function expectedOf(algorithm: Algorithm, base64: string) {
  const { hash, bytes } = ALGORITHMS[algorithm];
  const digest = Buffer.from(base64, 'base64');
  if (digest.length !== bytes) throw invalid(`${algorithm}=:${base64}:`);
  return { algorithm, digest, hash: createHash(hash) };
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
    `Content-Digest: found "${shortened(found, 60)}", expected ${names}, as in sha-256=:base64:`,
  );
}
