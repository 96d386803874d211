/**
 * The explorer in a real browser, as a person would use it. Chromium is taken from where systems put it, or from where `npm run
 * setup:browser` puts it; where there is none, these tests are skipped and say so. Screenshots are kept in test-artefacts/.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { type HttpService, startHttpService } from '../feature/http-service.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const ON_MACOS = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
const SCREENSHOTS = join(import.meta.dirname, '../../test-artefacts');
/** A machine that does other things besides takes its time. */
const STEP_MILLIS = 30_000;

/** Its path, or undefined where no browser is installed. */
export function findBrowser(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const places = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ON_MACOS];
  return [...places, chromium.executablePath()].find((path) => existsSync(path));
}

const executablePath = findBrowser();

/** For `test`: why it is skipped, or false. */
export const skip = executablePath === undefined && 'no Chromium is installed (npm run setup:browser)';

export interface Explorer {
  readonly service: HttpService;
  /** With the key of ann already entered, unless another ('' for none) is given. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  /** What pages have said on the console or thrown, and what they have asked of other hosts: nothing is right. */
  readonly complaints: string[];
}

interface OpenOptions extends BrowserContextOptions {
  readonly key?: string;
  /** Of another server than `service`. */
  readonly url?: string;
  /** What the clock of the browser says; as it is, when left out. */
  readonly now?: number;
}

export async function startExplorer(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<Explorer> {
  const service = await startHttpService(t, environment);
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] });
  t.after(async () => await browser.close());
  const complaints: string[] = [];
  return {
    service,
    complaints,
    open: async (path, { key = service.key, url = service.url, now, ...options } = {}) => {
      const page = await openPage(browser, url, complaints, options);
      if (now !== undefined) await page.addInitScript(`Date.now = () => ${now}`);
      await page.goto(`${url}${path}${key === '' ? '' : `#key=${key}`}`);
      return page;
    },
  };
}

async function openPage(
  browser: Browser,
  url: string,
  complaints: string[],
  options: BrowserContextOptions,
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  page.setDefaultTimeout(STEP_MILLIS);
  page.on('console', (message) => {
    // A refusal by the API is on the console of every browser.
    if (message.type() === 'error' && !/status of 4/.test(message.text())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(`a dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url())) complaints.push(request.url());
  });
  return page;
}

export async function keepScreenshot(page: Page, name: string): Promise<void> {
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
}

/** The texts of the cells of a row as they are seen; `number` from 1. */
export async function rowTexts(page: Page, number: number): Promise<readonly string[]> {
  const row = page.locator(`[role=row][aria-rowindex="${number + 1}"]`);
  await row.locator('[role=gridcell] bdi').first().waitFor();
  return await row.locator('[role=gridcell] bdi').allInnerTexts();
}

/** Waits in the page until a condition holds. Its policy forbids what Playwright would do for it. */
export async function until(page: Page, condition: string): Promise<void> {
  const look = `const look = () => (${condition}) ? resolve(true) : requestAnimationFrame(look)`;
  await page.evaluate(`new Promise((resolve) => { ${look}; look(); })`);
}
