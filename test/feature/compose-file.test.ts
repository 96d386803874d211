/** compose.yaml passes on every setting of the service and what a store in S3 and traces need, and passes the default for a setting that nobody has set. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { SETTINGS } from '../../src/settings/settings.ts';

/** Settings that a container needs otherwise: all its interfaces, the published port, the volume. */
const OF_THE_CONTAINER: Readonly<Record<string, string>> = {
  QRS_HOST: '0.0.0.0',
  QRS_PORT: '8080',
  QRS_DATA_DIR: '/data',
};

const text = await readFile(join(import.meta.dirname, '../../compose.yaml'), 'utf8');
const passed = [...text.matchAll(/^ {6}(QRS_\w+): (.*)$/gm)].map(([, name = '', value = '']) => ({ name, value }));

/** Substitutes as compose does: `${NAME:-x}` is x where NAME is not set or empty, `${NAME-x}` only where it is not set. */
function substituted(value: string, shell: Readonly<Record<string, string>>): string {
  return value.replace(/\$\{(\w+)(:?)-([^}]*)\}/g, (_, name: string, orEmpty: string, otherwise: string) => {
    const set = shell[name];
    return set === undefined || (set === '' && orEmpty !== '') ? otherwise : set;
  });
}

const settingsUnder = (shell: Readonly<Record<string, string>>) => {
  const environment = Object.fromEntries(passed.map(({ name, value }) => [name, substituted(value, shell)]));
  return loadSettings({ environment, readFile: () => undefined }).effective;
};

test('every setting of the service is passed on', () => {
  const ofService = Object.values(SETTINGS).filter((setting) => setting.of === 'service');
  assert.deepEqual(
    passed.map(({ name }) => name),
    ofService.map(({ name }) => name),
  );
});

test('with nothing set, each has its default, or what a container needs', () => {
  for (const { name, value, source } of settingsUnder({})) {
    const setting = Object.values(SETTINGS).find((one) => one.name === name);
    assert.equal(value, OF_THE_CONTAINER[name] ?? setting?.default, `${name} (${source})`);
  }
});

test('what is set reaches the service, also a name that is set to nothing', () => {
  const shell = { QRS_MAX_DATAPOINTS: '7', QRS_KEY_HEADERS: '', QRS_PUBLIC_URL: 'https://results.example.com' };
  const effective = new Map(settingsUnder(shell).map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries(shell)) assert.equal(effective.get(name), value);
});

test('what the store in S3 and traces read of the environment is passed on as it is, and not as nothing where it is not set', () => {
  const { environment } = parse(text).services.qrs;
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('QRS_'));
  assert.deepEqual(others, [
    ['AWS_ACCESS_KEY_ID', null],
    ['AWS_SECRET_ACCESS_KEY', null],
    ['AWS_SESSION_TOKEN', null],
    ['AWS_REGION', null],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', null],
    ['OTEL_EXPORTER_OTLP_HEADERS', null],
    ['OTEL_SERVICE_NAME', null],
    ['OTEL_RESOURCE_ATTRIBUTES', null],
    ['OTEL_TRACES_SAMPLER', null],
    ['OTEL_TRACES_SAMPLER_ARG', null],
  ]);
});
