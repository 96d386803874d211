/** What a row of the table of settings says. */
import type { ReadValue } from './setting-value.ts';

export interface Setting<T> {
  readonly name: string;
  /** As it would be written in the environment. */
  readonly default: string;
  readonly read: ReadValue<T>;
  readonly about: string;
  /** Wherever the value is shown, the password in it is masked, or the whole of it. */
  readonly secret: 'password' | 'whole' | undefined;
  /** Whose it is: a service's, or that of commands that ask a service elsewhere. */
  readonly of: 'service' | 'client';
}

export function setting<T>(
  name: string,
  value: string,
  read: ReadValue<T>,
  more: Pick<Setting<T>, 'about'> & Partial<Pick<Setting<T>, 'secret' | 'of'>>,
): Setting<T> {
  return { secret: undefined, of: 'service', ...more, name, default: value, read };
}
