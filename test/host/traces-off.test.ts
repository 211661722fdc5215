import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { call, type Call } from '#test/support/in-process-host.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { execute } from './support/commands.ts';
import { makeRun } from './support/runs.ts';

const TRACEPARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const RUN = new URL('../../host/run.ts', import.meta.url).href;

/** Prints the modules of the SDK as they are loaded. The API comes with prom-client. */
const MAIN = `import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    if (/@opentelemetry\\/(?!api\\/)|open-telemetry/.test(url)) process.stdout.write('loaded ' + url + '\\n');
    return next(url, context);
  },
});
await (await import(${JSON.stringify(RUN)})).run(performance.now());
`;

test.each([
  ['loads no SDK without a collector, and passes a trace on as it is', {}, false],
  ['loads it with a collector', { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
])('%s', async (_title, environment, isLoaded) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'porthole-traces-'));
  const main = join(dataDir, 'main.mjs');
  writeFileSync(main, MAIN);
  const host = await startHostProcess({ dataDir, main, environment });
  try {
    const headers = { traceparent: TRACEPARENT };
    const porthole = {
      call: (method: string, path: string, options: Call = {}) =>
        call(host.port, method, path, { ...options, headers: { ...options.headers, ...headers } }),
    };
    const { sandboxId } = await makeRun(porthole);
    const { stdout } = await execute(porthole, sandboxId, ['printenv', 'TRACEPARENT']);
    if (!isLoaded) expect(stdout.toString()).toBe(`${TRACEPARENT}\n`);
    expect(stdout.toString()).toContain('4bf92f3577b34da6a3ce929d0e0e4736');
    const without = await execute(
      { call: (method, path, options) => call(host.port, method, path, options) },
      sandboxId,
      ['printenv', 'TRACEPARENT'],
    );
    if (!isLoaded) expect([without.stdout.toString(), without.exitCode]).toEqual(['', 1]);
    expect(/^loaded /m.test(host.output())).toBe(isLoaded);
  } finally {
    await host.end();
    rmSync(dataDir, { recursive: true, force: true });
  }
});
