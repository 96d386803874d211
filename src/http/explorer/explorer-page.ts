/**
 * The page that all addresses of the explorer answer with. What it shows is its script's work, by the public API; without a script it says
 * what this is and where to go on. It may load nothing but what this service sends.
 */
import type { ExplorerFile } from './explorer-files.ts';

/** The address below which the page finds the files that it loads. */
export const FILES_PATH = '/explorer/';

export const EXPLORER_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

export interface ExplorerDataset {
  readonly queryId: number;
  readonly name: string;
  readonly title: string;
  readonly path: string;
  /** Cron, in UTC. */
  readonly schedule: string;
}

export interface ExplorerDescription {
  readonly version: string;
  /** The header that requests carry their key in. */
  readonly keyHeader: string;
  /** What visitors without a key read with. */
  readonly publicKey: string | undefined;
  readonly datasets: readonly ExplorerDataset[];
}

/** @param about HTML of what this is, for whoever has no script */
export function explorerPage(description: ExplorerDescription, files: readonly ExplorerFile[], about: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="qrs" content="${escapeHtml(JSON.stringify(description))}">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${FILES_PATH}${named(files, 'style', '.css')}">
<script type="module" src="${FILES_PATH}${named(files, 'index', '.js')}"></script>
<title>Query Results Service</title>
</head>
<body>
<div id="app"></div>
<noscript>
${about}
</noscript>
</body>
</html>
`;
}

function named(files: readonly ExplorerFile[], entry: string, extension: string): string {
  const found = files.find(({ name }) => name.startsWith(`${entry}-`) && name.endsWith(extension));
  if (found === undefined) throw new Error(`the explorer has no ${entry}${extension}`);
  return found.name;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
