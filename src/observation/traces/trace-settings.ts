/**
 * The standard OpenTelemetry variables that concern traces. Without an endpoint or an exporter named there, no traces are made and
 * nothing of this is loaded further. Spans travel as OTLP over HTTP in JSON, which every collector takes on its HTTP port.
 */
export interface TraceSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMillis: number;
  /** What all spans say of the process: `service.name` and others. */
  readonly resource: Readonly<Record<string, string>>;
  readonly sampling: TraceSampling;
  readonly batch: {
    readonly delayMillis: number;
    readonly queueMax: number;
    readonly sizeMax: number;
  };
}

export interface TraceSampling {
  /** Where the request belongs to a trace already, do as its beginning did. */
  readonly parentBased: boolean;
  /** The share of other requests that are traced, from 0 to 1. */
  readonly ratio: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

export class TraceSettingsError extends Error {}

const DEFAULT_ENDPOINT = 'http://localhost:4318';

/** Undefined when no traces are wanted. @throws TraceSettingsError for what is asked for and not there */
export function traceSettings(environment: Environment, version: string): TraceSettings | undefined {
  const exporter = given(environment, 'OTEL_TRACES_EXPORTER');
  const url = tracesUrl(environment);
  if (given(environment, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') return undefined;
  if (exporter === undefined && url === undefined) return undefined;
  if (exporter !== undefined && exporter !== 'otlp') throw refused('OTEL_TRACES_EXPORTER', exporter, 'otlp or none');
  const protocol = either(environment, 'PROTOCOL');
  if (protocol !== undefined && protocol !== 'http/json' && protocol !== 'http/protobuf') {
    throw refused('OTEL_EXPORTER_OTLP_PROTOCOL', protocol, 'http/json (OTLP over HTTP, port 4318)');
  }
  return {
    url: url ?? `${DEFAULT_ENDPOINT}/v1/traces`,
    headers: pairs(either(environment, 'HEADERS')),
    timeoutMillis: millis(environment, 'OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    resource: {
      'service.name': 'query-results-service',
      'service.version': version,
      ...pairs(given(environment, 'OTEL_RESOURCE_ATTRIBUTES')),
      ...named('service.name', given(environment, 'OTEL_SERVICE_NAME')),
    },
    sampling: samplingOf(environment),
    batch: {
      delayMillis: millis(environment, 'OTEL_BSP_SCHEDULE_DELAY', 5000),
      queueMax: millis(environment, 'OTEL_BSP_MAX_QUEUE_SIZE', 2048),
      sizeMax: millis(environment, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    },
  };
}

function tracesUrl(environment: Environment): string | undefined {
  const own = given(environment, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = given(environment, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = own ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
  if (url !== undefined && !(URL.canParse(url) && /^https?:/.test(url))) {
    throw refused('OTEL_EXPORTER_OTLP_ENDPOINT', url, `an address such as ${DEFAULT_ENDPOINT}`);
  }
  return url;
}

function samplingOf(environment: Environment): TraceSampling {
  const name = given(environment, 'OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const parentBased = name.startsWith('parentbased_');
  const ratio = Number(given(environment, 'OTEL_TRACES_SAMPLER_ARG') ?? 1);
  switch (name.replace('parentbased_', '')) {
    case 'always_on':
      return { parentBased, ratio: 1 };
    case 'always_off':
      return { parentBased, ratio: 0 };
    case 'traceidratio':
      if (ratio >= 0 && ratio <= 1) return { parentBased, ratio };
      throw refused('OTEL_TRACES_SAMPLER_ARG', String(ratio), 'a number from 0 to 1');
    default:
      throw refused(
        'OTEL_TRACES_SAMPLER',
        name,
        'always_on, always_off, traceidratio, or parentbased_ with one of them',
      );
  }
}

/** The variable for traces alone wins over the one for everything. */
function either(environment: Environment, name: string): string | undefined {
  return given(environment, `OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? given(environment, `OTEL_EXPORTER_OTLP_${name}`);
}

/** An empty variable is as if it were not there, as OpenTelemetry has it. */
function given(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === '' ? undefined : value;
}

function millis(environment: Environment, name: string, usual: number): number {
  const value = given(environment, name);
  if (value === undefined) return usual;
  if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value);
  throw refused(name, value, 'a whole number greater than 0');
}

/** `name=value,name=value`, values percent-encoded. */
function pairs(text: string | undefined): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const pair of text?.split(',') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0) found[pair.slice(0, equals).trim()] = decoded(pair.slice(equals + 1).trim());
  }
  return found;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function named(name: string, value: string | undefined): Readonly<Record<string, string>> {
  return value === undefined ? {} : { [name]: value };
}

function refused(name: string, value: string, expected: string): TraceSettingsError {
  return new TraceSettingsError(`${name} is "${value}": expected ${expected}`);
}
