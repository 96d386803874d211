/** The header Want-Repr-Digest (RFC 9530): which digests of an answer a client wants, with weights from 0, unwanted, to 10. */

/** Whether SHA-256, the one we have, is among them. @param header as Node has it */
export function wantsSha256(header: string | readonly string[] | undefined): boolean {
  if (typeof header !== 'string') return false;
  const members = header.split(',').map((member) => member.trim());
  return members.some((member) => /^sha-256=([1-9]|10)$/.test(member));
}
