/** The environment of a service or command that a test starts: as the test's own, without settings of whoever runs it. */
export function withoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:QRS|OTEL)_/.test(name)));
}
