/**
 * Who is asking, and what they may see. A query belongs to a user or a team and is public or private; an execution is
 * as visible as its query (contract §2).
 */

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
}

export interface Query {
  readonly id: number;
  readonly name?: string;
  readonly owner: Owner;
  readonly visibility: 'public' | 'private';
}

export function mayRead(principal: Principal, query: Query): boolean {
  if (query.visibility === 'public') return true;
  return query.owner.kind === 'team'
    ? principal.teams.includes(query.owner.name)
    : principal.owner.kind === 'user' && principal.owner.name === query.owner.name;
}
