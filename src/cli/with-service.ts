/** The frame of every command that works on the service's data: settings, the service, and its closing at the end. */
import { openService, type Service } from '../compose/service.ts';
import { loadSettings } from '../settings/load-settings.ts';
import type { Settings } from '../settings/settings.ts';
import type { CommandContext } from './command-context.ts';

/**
 * @param part of the settings, where several processes share what they allow
 * @throws SettingsError, and whatever the work throws
 */
export async function withService<T>(
  context: CommandContext,
  work: (service: Service) => Promise<T>,
  part: (settings: Settings) => Settings = (settings) => settings,
): Promise<T> {
  const settings = part(loadSettings(context).settings);
  await using service = await openService(settings, context);
  return await work(service);
}
