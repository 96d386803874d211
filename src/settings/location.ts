/**
 * Where the catalog, the results and the engine are, as URLs. Each setting knows the schemes that exist and those that are
 * planned; the planned ones are refused by name, so that nobody thinks their data is in a place where it is not.
 */
import { BadValue, type ReadValue } from './setting-value.ts';

/** `path` undefined: at its usual place in the data directory. */
export interface FileLocation<Kind extends string> {
  readonly kind: Kind;
  readonly path: string | undefined;
}

export interface PostgresLocation {
  readonly kind: 'postgres';
  /** As it was given, with what the driver takes: user, password, host, port, database, options. */
  readonly url: string;
}

export type CatalogLocation = FileLocation<'sqlite'> | PostgresLocation;
export interface S3Location {
  readonly kind: 's3';
  readonly bucket: string;
  /** Of all keys: empty, or ending in a slash. */
  readonly prefix: string;
  /** Of a server that is not Amazon's. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
}

export type StoreLocation = FileLocation<'file'> | S3Location;
export interface TrinoLocation {
  readonly kind: 'trino';
  /** `https://host:port`. */
  readonly origin: string;
  readonly user: string;
  readonly password: string | undefined;
  readonly catalog: string;
  readonly schema: string | undefined;
}

export type EngineLocation = { readonly kind: 'duckdb' } | TrinoLocation;

export const catalogLocation: ReadValue<CatalogLocation> = (text) => {
  const { scheme, rest } = split(text);
  if (scheme === 'sqlite') return { kind: 'sqlite', path: pathOf(rest) };
  if (scheme === 'postgres' || scheme === 'postgresql') return { kind: 'postgres', url: postgresUrl(text) };
  throw new BadValue(
    'expected sqlite: (in the data directory), sqlite:/path/to/file or postgres://user:password@host/database',
  );
};

export const storeLocation: ReadValue<StoreLocation> = (text) => {
  const { scheme, rest } = split(text);
  if (scheme === 'file') return { kind: 'file', path: pathOf(rest) };
  if (scheme === 's3') return s3Location(text);
  throw new BadValue('expected file: (in the data directory), file:/path/to/folder or s3://bucket/prefix');
};

export const engineLocation: ReadValue<EngineLocation> = (text) => {
  const { scheme, rest } = split(text);
  if (scheme === 'duckdb' && rest === '') return { kind: 'duckdb' };
  if (scheme === 'trino') return trinoLocation(text);
  throw new BadValue('expected duckdb: or trino://user@host:port/catalog/schema');
};

const TRINO_EXPECTED =
  'expected trino://user@host:port/catalog or …/catalog/schema, with ?tls=true or false where it is wanted';
const TLS_PORT = '443';

/** TLS where the port is its own, where there is a password, or where it is asked for. */
function trinoLocation(text: string): TrinoLocation {
  const url = URL.parse(text);
  const { username = '', hostname = '', port = '', pathname = '', searchParams } = url ?? {};
  const [, catalog = '', schema, ...more] = pathname.split('/').map(decoded);
  const tls = searchParams?.get('tls') ?? undefined;
  const unknown =
    [...(searchParams?.keys() ?? [])].some((name) => name !== 'tls') ||
    (tls !== undefined && tls !== 'true' && tls !== 'false');
  if (hostname === '' || username === '' || catalog === '' || more.length > 0 || unknown)
    throw new BadValue(TRINO_EXPECTED);
  const password = url?.password === '' ? undefined : decoded(url?.password ?? '');
  if (password !== undefined && tls === 'false') throw new BadValue('expected TLS for a password: leave out tls=false');
  const isSecure = tls === undefined ? password !== undefined || port === TLS_PORT : tls === 'true';
  const origin = new URL(`${isSecure ? 'https' : 'http'}://${hostname}${port === '' ? '' : `:${port}`}`).origin;
  return { kind: 'trino', origin, user: decoded(username), password, catalog, schema: schema || undefined };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new BadValue('expected %XX where there is a percent sign, and %25 for one');
  }
}

const S3_EXPECTED =
  'expected s3://bucket/prefix, with ?endpoint=https://host:port and &region=name where they are wanted';

function s3Location(text: string): S3Location {
  const url = URL.parse(text);
  const { username = '', password = '', hostname = '', port = '', pathname = '', hash = '', searchParams } = url ?? {};
  const unknown = [...(searchParams?.keys() ?? [])].filter((name) => name !== 'endpoint' && name !== 'region');
  // A port would be that of an endpoint, and what follows a `#` no part of the prefix.
  if (hostname === '' || port !== '' || hash !== '' || unknown.length > 0) throw new BadValue(S3_EXPECTED);
  if (username !== '' || password !== '') {
    throw new BadValue(
      'expected no credentials in it: they are found as the AWS SDK does, such as in AWS_ACCESS_KEY_ID',
    );
  }
  const endpoint = searchParams?.get('endpoint') ?? undefined;
  // To `URL`, what stands before a port is a scheme: `localhost:9000`.
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) throw new BadValue(S3_EXPECTED);
  const folder = decoded(pathname.replace(/^\/|\/$/g, ''));
  const prefix = folder === '' ? '' : `${folder}/`;
  return { kind: 's3', bucket: hostname, prefix, endpoint, region: searchParams?.get('region') ?? undefined };
}

function postgresUrl(text: string): string {
  // The driver would take them for one name, and look for that in vain. A password may have commas.
  if (/^[^/]*\/\/(?:[^/?#]*@)?[^@/?#]*,[^@/?#]*(?:[/?#]|$)/.test(text)) {
    throw new BadValue('expected one host, by a name that leads to the primary after a failover, too; found several');
  }
  const { hostname, pathname } = URL.parse(text) ?? { hostname: '', pathname: '' };
  // A slash in a password ends the host for `URL`: what follows would be the database.
  if (hostname === '' || pathname.length < 2 || pathname.includes('@')) {
    throw new BadValue(
      'expected postgres://user:password@host:port/database; what is special in a password is written %XX',
    );
  }
  return text;
}

/**
 * The text with any password in it masked, to be shown. A password that is not written as it should be may have any character, so more may be
 * masked than it.
 */
export function maskPassword(text: string): string {
  return text.replace(/([?&]password=)[^&#]*/gi, '$1***').replace(/(:\/\/[^/?#:@]*):.*@/s, '$1:***@');
}

function split(text: string): { readonly scheme: string; readonly rest: string } {
  const colon = text.indexOf(':');
  return colon < 0
    ? { scheme: '', rest: text }
    : { scheme: text.slice(0, colon).toLowerCase(), rest: text.slice(colon + 1) };
}

/** `sqlite:///srv/a` and `sqlite:/srv/a` are absolute, `sqlite:a` is relative to the working directory. */
function pathOf(rest: string): string | undefined {
  const path = rest.startsWith('///') ? rest.slice(2) : rest;
  if (path.startsWith('//')) throw new BadValue('expected a path, not a host: one slash or three after the colon');
  return path === '' ? undefined : path;
}
