/** Values that are about the network around the service: whom to trust, and whose pages may read. */
import { isIP } from 'node:net';
import { BadValue, type ReadValue } from './setting-value.ts';

/** Names for networks that a proxy is usually in. */
const NETWORK_NAMES: readonly string[] = ['loopback', 'linklocal', 'uniquelocal'];
const HOPS_MAX = 10;

/** Nobody; everybody; so many proxies before us; or addresses and networks (`10.0.0.0/8`, `loopback`). */
export const trustedProxies: ReadValue<boolean | number | readonly string[]> = (text) => {
  const value = text.toLowerCase();
  if (value === '' || value === 'false' || value === '0') return false;
  if (value === 'true') return true;
  if (/^\d{1,2}$/.test(value) && Number(value) <= HOPS_MAX) return Number(value);
  const networks = value.split(',').map((one) => one.trim());
  if (networks.every(isNetwork)) return networks;
  throw new BadValue(
    `expected false, true, a number of proxies from 1 to ${HOPS_MAX}, or addresses such as 10.0.0.0/8, loopback`,
  );
};

function isNetwork(text: string): boolean {
  if (NETWORK_NAMES.includes(text)) return true;
  const [address = '', prefix, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** `https://app.example.com, http://localhost:3000`, or `*` for all. */
export const webOrigins: ReadValue<readonly string[]> = (text) => {
  const origins = text.split(',').flatMap((one) => one.trim().replace(/\/$/, '') || []);
  const bad = origins.find((origin) => origin !== '*' && !isOrigin(origin));
  if (bad === undefined) return [...new Set(origins)];
  throw new BadValue('expected origins separated by commas, such as https://app.example.com, or *');
};

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
