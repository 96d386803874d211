/**
 * The configuration file: lines of NAME=VALUE, the same names as in the environment. Blank lines and lines that begin with #
 * are skipped; a value may stand in single or double quotes, and is otherwise taken as it is.
 */

export interface ConfigLine {
  readonly name: string;
  readonly value: string;
  /** From 1. */
  readonly line: number;
}

export class ConfigFileError extends Error {}

const LENGTH_MAX = 1_000_000;

/** @throws ConfigFileError with the number of the line; `path` is only named in it. */
export function parseConfigFile(text: string, path: string): readonly ConfigLine[] {
  if (text.length > LENGTH_MAX) throw new ConfigFileError(`${path} is no configuration file: it is larger than 1 MB`);
  const lines: ConfigLine[] = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const trimmed = raw.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(trimmed) ?? [];
    if (name === undefined || value === undefined) {
      throw new ConfigFileError(`${path}, line ${index + 1}: expected NAME=VALUE`);
    }
    const before = lines.find((line) => line.name === name);
    if (before !== undefined) {
      throw new ConfigFileError(`${path}, line ${index + 1}: ${name} is set already in line ${before.line}`);
    }
    lines.push({ name, value: unquote(value), line: index + 1 });
  }
  return lines;
}

function unquote(value: string): string {
  const quote = value[0];
  const quoted = value.length >= 2 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return quoted ? value.slice(1, -1) : value;
}
