/** The log for somebody who watches it on a terminal: time, level, message and facts in words instead of JSON. */

/** A writer of log lines that writes them so. */
export function readable(write: (line: string) => void): (line: string) => void {
  return (line) => write(readableLine(line));
}

export function readableLine(line: string): string {
  const { level, time, message, error, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const words = Object.entries(facts).map(([name, value]) => `${name}=${word(value)}`);
  const stack = typeof error === 'object' && error !== null && 'stack' in error ? `\n${error.stack}` : '';
  return `${[String(time).slice(11, 23), level, message, ...words].join(' ')}${stack}\n`;
}

function word(value: unknown): string {
  return typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value);
}
