/** Names of users and teams: what people type in commands and read in lists, e-mail addresses included. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

export const PRINCIPAL_NAME_RULE = '1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit';

export function isPrincipalName(text: string): boolean {
  return NAME.test(text);
}
