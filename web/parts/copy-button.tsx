/** Copies a text, and says so. */
import { useEffect, useState } from 'preact/hooks';

interface CopyProps {
  readonly text: string;
  readonly label?: string;
}

export function CopyButton({ text, label = 'Copy' }: CopyProps) {
  const [said, setSaid] = useState('');
  useEffect(() => setSaid(''), [text]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('The browser did not allow it');
    }
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-live="polite">
      {said || label}
    </button>
  );
}
