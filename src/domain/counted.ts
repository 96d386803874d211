/** Numbers of things, for people: `1 row`, `1,234 rows`. */

/** @param many the plural, where it is not the noun with an s */
export function counted(number: number, noun: string, many = `${noun}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? noun : many}`;
}

/** To three digits at most: `512 B`, `4.2 kB`, `1.3 GB`. */
export function bytesInWords(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

/** `40 s`, `2 min`, `1 h 20 min`: as far as a guess is worth. */
export function durationInWords(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
