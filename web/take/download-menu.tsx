/** Downloads what is on the screen as a file. Shows the cost first, then the progress. */
import { useEffect, useState } from 'preact/hooks';
import { parameter } from '../address.ts';
import { rowsPath } from '../api/rows-path.ts';
import { bytes, count } from '../numbers.ts';
import { download, type Format, type Price, priceOf } from './download.ts';

const FORMATS: readonly Format[] = ['csv', 'ndjson', 'json', 'parquet'];
const NAMES: Readonly<Record<Format, string>> = { csv: 'CSV', ndjson: 'NDJSON', json: 'JSON', parquet: 'Parquet' };

export function DownloadMenu({ executionId }: { readonly executionId: string }) {
  const [isOpen, setOpen] = useState(false);
  const [price, setPrice] = useState<Price>();
  const [said, setSaid] = useState('');
  const since = parameter('since');
  const asked = {
    filters: parameter('filters'),
    search: parameter('search'),
    sort_by: parameter('sort_by'),
    columns: parameter('columns'),
    key: since === '' ? '' : parameter('key'),
  };
  const path = rowsPath(executionId, since);
  useEffect(() => {
    if (!isOpen) return;
    const controller = new AbortController();
    setPrice(undefined);
    const unknown = { rows: undefined, datapoints: undefined };
    priceOf(path, asked, controller.signal).then(setPrice, () => controller.signal.aborted || setPrice(unknown));
    return () => controller.abort();
  }, [isOpen, path, asked.key, asked.filters, asked.search, asked.sort_by, asked.columns]);
  const take = async (format: Format) => {
    try {
      await download(path, executionId, format, asked, (received) => setSaid(`${bytes(received)} …`));
      setSaid('Saved');
    } catch (error) {
      setSaid(
        error instanceof DOMException && error.name === 'AbortError' ? '' : `Failed: ${(error as Error).message}`,
      );
    }
  };
  return (
    <details class="download" name="taking" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Download</summary>
      <div class="choices">
        <p class="hint" role="status">
          {price === undefined ? 'asking what it costs …' : priceText(price)}
        </p>
        {FORMATS.map((format) => (
          <button key={format} type="button" onClick={() => take(format)}>
            {NAMES[format]}
          </button>
        ))}
        <p role="status">{said}</p>
      </div>
    </details>
  );
}

function priceText({ rows, datapoints }: Price): string {
  if (rows === undefined && datapoints === undefined) return 'What it costs is not known.';
  return [
    ...(rows === undefined ? [] : [`${count(rows)} rows`]),
    ...(datapoints === undefined ? [] : [`${count(datapoints)} datapoints`]),
  ].join(', ');
}
