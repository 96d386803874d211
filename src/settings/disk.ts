/** Disk: a size, or a share of what is free. */
import { BadValue, type ReadValue, size } from './setting-value.ts';

/** A share of what is free, and of what is taken of it already. */
export interface DiskShare {
  readonly kind: 'disk_share';
  readonly percent: number;
}

export type Disk = number | DiskShare;

/** `50%` of what is free, or a size. */
export function disk(bytesMin: number, minText: string): ReadValue<Disk> {
  const readSize = size(bytesMin, minText);
  return (text) => {
    const percent = Number(/^(\d{1,3}(?:\.\d{1,3})?) *%$/.exec(text)?.[1] ?? Number.NaN);
    if (Number.isNaN(percent)) return readSize(text);
    if (percent === 0 || percent > 100)
      throw new BadValue('expected a size, or more than 0% and at most 100% of what is free on the disk');
    return { kind: 'disk_share', percent };
  };
}

/** What each of several gets of it. */
export function diskOfEach(whole: Disk, count: number): Disk {
  if (typeof whole === 'number') return Math.max(1, Math.floor(whole / count));
  return { ...whole, percent: whole.percent / count };
}

/** @param free bytes that are free on the disk, and those that are taken of this already */
export function diskBytes(given: Disk, free: number): number {
  return typeof given === 'number' ? given : Math.floor((free * given.percent) / 100);
}

/** @returns how much more has to be free, for this to be so many bytes more */
export function freeForDisk(given: Disk, bytes: number): number {
  return typeof given === 'number' ? 0 : Math.ceil((bytes * 100) / given.percent);
}
