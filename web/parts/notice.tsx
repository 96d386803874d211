/** Shown instead of what was asked for: what happened, and what to do. */
import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/client.ts';

interface NoticeProps {
  readonly title: string;
  readonly tone?: 'bad' | 'plain';
  readonly children?: ComponentChildren;
}

export function Notice({ title, tone = 'plain', children }: NoticeProps) {
  return (
    <section class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function FailedNotice({ error }: { readonly error: unknown }) {
  const retry = (
    <button type="button" onClick={() => location.reload()}>
      Try again
    </button>
  );
  if (!(error instanceof ApiError)) {
    return (
      <Notice title="The service cannot be reached" tone="bad">
        <p>The connection failed, or the service has stopped. {error instanceof Error && error.message}</p>
        {retry}
      </Notice>
    );
  }
  return (
    <Notice title={TITLES[error.status] ?? 'The service refused this'} tone="bad">
      <p>{error.message}</p>
      {error.status === 404 ? (
        <p>
          <a href="/">See the queries that your key may read</a>
        </p>
      ) : (
        retry
      )}
    </Notice>
  );
}

const TITLES: Readonly<Record<number, string>> = {
  200: 'No usable answer came',
  404: 'Not there, or not yours to see',
  429: 'Too many requests at the moment',
  500: 'The service failed',
  503: 'The service is busy',
  504: 'This took too long',
};

export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what} …
    </p>
  );
}
