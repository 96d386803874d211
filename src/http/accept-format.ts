/** The Accept header → the format of an answer (RFC 9110 §12.5.1). Whoever asks for nothing that there is gets JSON. */
import { CONTENT_TYPES, FORMATS, type Format } from '../results/format.ts';

/** More ranges than any client sends; what follows is not looked at. */
const RANGES_MAX = 64;

interface MediaRange {
  readonly name: string;
  readonly weight: number;
}

/**
 * The format with the greatest weight. Among equal ones a type that is named wins over a wildcard, and then the order of
 * FORMATS decides: who names NDJSON beside a wildcard hopes for NDJSON.
 */
export function acceptedFormat(header: string | undefined): Format {
  if (header === undefined || header === '*/*') return 'json';
  const ranges = header.toLowerCase().split(',', RANGES_MAX).map(mediaRange);
  let best: Liking | undefined;
  for (const format of FORMATS) {
    const liking = likingOf(format, ranges);
    if (liking.weight > 0 && (best === undefined || isMore(liking, best))) best = liking;
  }
  return best?.format ?? 'json';
}

interface Liking {
  readonly format: Format;
  readonly weight: number;
  /** 2: the type was named, 1: its group, 0: everything. */
  readonly precision: number;
}

function isMore(a: Liking, b: Liking): boolean {
  return a.weight === b.weight ? a.precision > b.precision : a.weight > b.weight;
}

/** What the most precise range that covers the format says of it. */
function likingOf(format: Format, ranges: readonly MediaRange[]): Liking {
  const [name = ''] = CONTENT_TYPES[format].split(';');
  const covering = ['*/*', `${name.split('/')[0]}/*`, name];
  for (const precision of [2, 1, 0]) {
    const found = ranges.find((range) => range.name === covering[precision]);
    if (found !== undefined) return { format, weight: found.weight, precision };
  }
  return { format, weight: 0, precision: 0 };
}

function mediaRange(text: string): MediaRange {
  const [name = '', ...parameters] = text.split(';').map((part) => part.trim());
  const q = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  const weight = q === undefined ? 1 : Number(q);
  return { name, weight: Number.isFinite(weight) ? weight : 0 };
}
