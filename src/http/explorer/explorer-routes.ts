/** The explorer (contract §12): the addresses of its pages, which all answer with the same page, and the files that it loads. */
import { once } from '../../domain/once.ts';
import { RequestError } from '../../errors/errors.ts';
import { frontDocument, frontText, prefersHtml } from '../front-page.ts';
import type { ApiDescription } from '../openapi/document.ts';
import type { ServePage } from '../serve-page.ts';
import { type ExplorerFile, loadExplorerFiles } from './explorer-files.ts';
import { EXPLORER_POLICY, type ExplorerDescription, explorerPage, FILES_PATH } from './explorer-page.ts';

/** A file's name has a hash of its content, so what is at an address never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export function explorerRoutes(serve: ServePage, api: ApiDescription, explorer: ExplorerDescription): void {
  const load = once(loadExplorerFiles);
  const page = once(async () => ({
    contentType: 'text/html; charset=utf-8',
    bytes: Buffer.from(explorerPage(explorer, await load(), frontText(api))),
    policy: EXPLORER_POLICY,
  }));
  serve('/', async ({ headers }) =>
    prefersHtml(headers.accept)
      ? await page()
      : { contentType: 'application/json', bytes: Buffer.from(JSON.stringify(frontDocument(api))) },
  );
  for (const url of ['/queries/:id', '/executions/:id', '/usage']) serve(url, page);
  serve(`${FILES_PATH}:name`, async ({ params }) => {
    const { name } = params as { readonly name: string };
    const file = (await load()).find((one) => one.name === name);
    if (file === undefined) throw new RequestError('route_not_found', `not found: GET ${FILES_PATH}${name}`);
    return { contentType: contentTypeOf(file), bytes: file.bytes, cacheControl: FOR_EVER };
  });
}

function contentTypeOf({ name }: ExplorerFile): string {
  return `text/${name.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`;
}
