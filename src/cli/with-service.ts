/** The frame of every command that works on the service's data: settings, the service, and its closing at the end. */
import { openService, type Service } from '../compose/service.ts';
import { loadSettings } from '../settings/load-settings.ts';
import type { CommandContext } from './command-context.ts';

/** @throws SettingsError, and whatever the work throws */
export async function withService<T>(context: CommandContext, work: (service: Service) => Promise<T>): Promise<T> {
  const { settings } = loadSettings(context);
  await using service = await openService(settings, context);
  return await work(service);
}
