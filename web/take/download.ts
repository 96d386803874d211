/**
 * Downloads with the key in a header, which a plain link cannot send. If the browser lets a page write files, bytes are written as they
 * arrive; otherwise the browser collects them first, on disk if there are many.
 */
import { type Parameters, request } from '../api/client.ts';
import { checkWhole } from './whole.ts';

export type Format = 'csv' | 'ndjson' | 'json' | 'parquet';

const TYPES: Readonly<Record<Format, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
  parquet: 'application/vnd.apache.parquet',
};

export interface Price {
  readonly rows: number | undefined;
  readonly datapoints: number | undefined;
}

const WHOLE = { ignore_max_datapoints_per_request: 'true', allow_partial_results: 'true' } as const;

interface SaveWindow {
  readonly showSaveFilePicker?: (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>;
}

/** What the whole download would cost. The request itself costs nothing. */
export async function priceOf(path: string, asked: Parameters, signal: AbortSignal): Promise<Price> {
  const parameters = {
    ...asked,
    ...WHOLE,
    format: 'ndjson',
    count: asked.filters === '' && asked.search === '' ? undefined : 'exact',
  };
  const { headers } = await request(path, { parameters, method: 'HEAD', signal });
  const number = (name: string) => {
    const text = headers.get(`x-service-${name}`);
    return text === null ? undefined : Number(text);
  };
  return { rows: number('row-count') ?? number('filtered-row-count'), datapoints: number('datapoint-count') };
}

/** @param onProgress called with the bytes received so far */
export async function download(
  path: string,
  executionId: string,
  format: Format,
  asked: Parameters,
  onProgress: (received: number) => void,
): Promise<void> {
  const suggestedName = `${executionId}.${format}`;
  const picker = (window as SaveWindow).showSaveFilePicker;
  const file = await picker?.({ suggestedName });
  const { body, headers } = await request(path, { parameters: { ...asked, ...WHOLE, format }, type: TYPES[format] });
  if (body === null) return;
  let received = 0;
  const counted = body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        received += chunk.byteLength;
        onProgress(received);
        controller.enqueue(chunk);
      },
    }),
  );
  const check = checkWhole(format, headers.get('x-service-row-count'));
  const checked = counted.pipeThrough(check.stream);
  try {
    if (file === undefined) offer(await new Response(checked).blob(), suggestedName);
    else await checked.pipeTo(await file.createWritable());
  } catch (error) {
    throw check.problem() ?? error;
  }
}

function offer(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
