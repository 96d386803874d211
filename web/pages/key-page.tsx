/** Asks a visitor without a key for one. */
import { useState } from 'preact/hooks';
import { keepKey, keyRefused, settings } from '../session.ts';

export function KeyPage() {
  const [text, setText] = useState('');
  const [isNoKey, setNoKey] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    // Others cannot be sent in a header: quotes that a text program made round, or a blank of no width.
    const isSent = /^[ -~]*$/.test(text.trim());
    setNoKey(!isSent);
    if (isSent && text.trim() !== '') keepKey(text.trim());
  };
  return (
    <main class="narrow">
      <h1>Look at and download the results of queries</h1>
      <p>
        This service stores the result of each query execution once and serves it from then on: filtered, sorted, paged
        or sampled. Enter an API key to see what it may read.
      </p>
      <form class="key" onSubmit={submit}>
        <label for="key">API key</label>
        <div class="together">
          <input
            id="key"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text}
            aria-invalid={keyRefused.value || isNoKey}
            aria-describedby="key-help"
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
          <button type="submit" class="primary">
            Open
          </button>
        </div>
        {isNoKey ? (
          <p class="error" role="alert">
            This has a character that no key has: was it copied whole, without quotes around it?
          </p>
        ) : (
          keyRefused.value && (
            <p class="error" role="alert">
              The service does not know this key: it is mistyped, revoked or expired.
            </p>
          )
        )}
        <p id="key-help" class="hint">
          It is kept in this tab only, until the tab is closed. An operator makes one with{' '}
          <code>qrs keys create --user NAME</code>.
        </p>
      </form>
      <ul class="links">
        <li>
          <a href="/docs">Try requests</a>, and read every address, parameter and error
        </li>
        <li>
          <a href="/openapi.json">OpenAPI</a> for programs, <a href="/llms.txt">llms.txt</a> for language models
        </li>
        <li>
          A program sends the key in the header <code>{settings.keyHeader}</code>
        </li>
      </ul>
    </main>
  );
}
