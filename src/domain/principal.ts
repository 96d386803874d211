/** Who is asking: users, teams, and the holders of their keys. */
import type { Instant } from './instant.ts';
import type { Scope } from './scope.ts';
import type { Share } from './share.ts';

/** A user or a team, by its unique name. */
export interface Owner {
  readonly kind: 'user' | 'team';
  readonly name: string;
}

/** The holder of a key, as authenticated: the user or team it acts for, and the teams that user is a member of. */
export interface Principal {
  readonly keyId: string;
  readonly owner: Owner;
  /** Names of the teams the principal acts for: a user's teams, or the team itself. */
  readonly teams: readonly string[];
  readonly scope: Scope;
  /** From then on the key is nobody's. */
  readonly expiresAt?: Instant;
  /** All that it may read, where it came by the address of a share. */
  readonly share?: Share;
}

/** Whether the principal acts for the owner: it is the owner, or a member of the team. */
export function actsFor(principal: Principal, owner: Owner): boolean {
  return owner.kind === 'team'
    ? principal.teams.includes(owner.name)
    : principal.owner.kind === 'user' && principal.owner.name === owner.name;
}
