/**
 * Which addresses webhooks may have: those of the public internet. Otherwise users could make the service send requests into networks that
 * they cannot reach themselves.
 */
import { BlockList, isIP } from 'node:net';
import { WEBHOOK_URL_LENGTH_MAX } from '../domain/webhook.ts';

/** Of IPv4, what is private, of one machine or link, of documentation, of many receivers, or not in use (IANA's registry). */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Of the part of IPv6 that is in use, what leads into other networks (Teredo, 6to4), or nowhere. */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** The part of IPv6 that is in use. All else is not assigned yet, has an IPv4 address inside, is private, of one link, or of many receivers. */
const IN_USE_V6 = listOf(['2000::/3'], 'ipv6');

const v4 = listOf(NOT_PUBLIC_V4, 'ipv4');
const v6 = listOf(NOT_PUBLIC_V6, 'ipv6');

/** @param address an IP address, perhaps with a zone */
export function isPublicAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  switch (isIP(bare)) {
    case 4:
      return !v4.check(bare, 'ipv4');
    case 6:
      return bare === address && IN_USE_V6.check(bare, 'ipv6') && !v6.check(bare, 'ipv6');
    default:
      return false;
  }
}

/** The IP address that a host's name is, without the brackets of URLs; undefined for a name that is to be looked up. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? undefined : bare;
}

export interface AddressRules {
  /** Whether addresses that are not public are allowed, too. */
  readonly allowsPrivate: boolean;
}

export const EXPECTED_URL = 'an http or https URL without user and password, at a public address';

/** What the text is, if it is no URL that a webhook may have: in words, without secrets that it may contain. Undefined when it is one. */
export function urlProblem(text: string, { allowsPrivate }: AddressRules): string | undefined {
  if (text.length > WEBHOOK_URL_LENGTH_MAX) return `more than ${WEBHOOK_URL_LENGTH_MAX} characters`;
  if (!URL.canParse(text)) return 'no URL';
  const { protocol, username, password, hostname, hash } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return `a URL of ${protocol.slice(0, -1)}`;
  if (username !== '' || password !== '') return 'a URL with a user or a password';
  if (hash !== '') return 'a URL with a fragment';
  const address = literalAddress(hostname);
  const isLocal = /(^|\.)localhost\.?$/.test(hostname);
  const isPrivate = address === undefined ? isLocal : !isPublicAddress(address);
  return isPrivate && !allowsPrivate ? `a URL of ${hostname}, which is no public address` : undefined;
}

function listOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = '', bits] = range.split('/');
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}
