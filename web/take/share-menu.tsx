/** Shares what is on the screen: gives an address that needs no key, and lists and ends those that there are. */
import { useEffect, useState } from 'preact/hooks';
import { parameter } from '../address.ts';
import type { ListAnswer, Share } from '../api/answers.ts';
import { request, requestJson } from '../api/client.ts';
import { day } from '../numbers.ts';
import { CopyButton } from '../parts/copy-button.tsx';

interface ShareProps {
  /** The API's address of what is shared: `/v1/query/7`. */
  readonly path: string;
}

/** In days; 0: until it is ended. */
const LASTS = [1, 7, 30, 90, 0] as const;
const DAY_SECONDS = 86_400;

export function ShareMenu({ path }: ShareProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="download" name="taking" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Share</summary>
      {isOpen && <Sharing key={path} path={path} />}
    </details>
  );
}

function Sharing({ path }: ShareProps) {
  const [shares, setShares] = useState<readonly Share[]>([]);
  const [days, setDays] = useState<number>(LASTS[2]);
  const [url, setUrl] = useState('');
  const [said, setSaid] = useState('');
  const [columns, filters] = [parameter('columns'), parameter('filters')];
  useEffect(() => setUrl(''), [columns, filters]);
  const act = async (work: () => Promise<void>) => {
    setSaid('');
    try {
      await work();
      const { shares: all } = await requestJson<ListAnswer & { readonly shares: readonly Share[] }>(`${path}/share`, {
        parameters: { active: 'true', limit: 200 },
      });
      setShares(all.filter((share) => isOf(share, path)));
    } catch (error) {
      setSaid((error as Error).message);
    }
  };
  useEffect(() => void act(async () => undefined), [path]);
  const make = () =>
    act(async () => {
      const body = {
        ...(columns !== '' && { columns }),
        ...(filters !== '' && { filters }),
        ...(days !== 0 && { expires_in: days * DAY_SECONDS }),
      };
      setUrl((await requestJson<{ readonly url: string }>(`${path}/share`, { method: 'POST', body })).url);
    });
  const end = ({ id }: Share) => act(async () => void (await request(`${path}/share/${id}`, { method: 'DELETE' })));
  return (
    <div class="choices share">
      <p class="hint">
        An address for whoever has it, without a key: {whatOf(path, columns, filters)}
        {parameter('search') !== '' && ' The search is not part of it.'}
      </p>
      <select aria-label="How long" value={days} onChange={({ currentTarget }) => setDays(Number(currentTarget.value))}>
        {LASTS.map((number) => (
          <option key={number} value={number}>
            {number === 0 ? 'until it is ended' : number === 1 ? 'for a day' : `for ${number} days`}
          </option>
        ))}
      </select>
      <button type="button" onClick={make}>
        Make an address
      </button>
      <p role="status">{said}</p>
      {url !== '' && (
        <div class="made">
          <input
            aria-label="The address"
            readOnly
            value={url}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <CopyButton text={url} label="Copy the address" />
          <CopyButton text={`=IMPORTDATA("${url}/csv")`} label="Copy for a spreadsheet" />
          <p class="hint">It is not shown again.</p>
        </div>
      )}
      {shares.length > 0 && (
        <ul aria-label="What is shared">
          {shares.map((share) => (
            <li key={share.id}>
              <span>{aboutOf(share)}</span>
              <button type="button" class="quiet" onClick={() => end(share)}>
                End
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Of a query, the shares of its executions are listed too. */
function isOf({ execution_id }: Share, path: string): boolean {
  return execution_id === undefined || path.includes(execution_id);
}

function whatOf(path: string, columns: string, filters: string): string {
  const run = path.startsWith('/v1/query/') ? 'the latest run, whichever that is then' : 'this run';
  const shown = columns === '' ? 'all columns' : 'the columns that are shown';
  return `${run}; ${shown}, ${filters === '' ? 'all rows' : 'the rows of this filter'}, and nothing else.`;
}

function aboutOf({ columns, filters, created_at, expires_at, last_used_at }: Share): string {
  return [
    columns === undefined ? 'all columns' : columns.join(', '),
    ...(filters === undefined ? [] : [`where ${filters}`]),
    `made ${day(created_at)}`,
    ...(expires_at === undefined ? [] : [`until ${day(expires_at)}`]),
    last_used_at === undefined ? 'never read' : `last read ${day(last_used_at)}`,
  ].join(' · ');
}
