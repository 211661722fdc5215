import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HostProcess, startHostProcess } from '#test/support/host-process.ts';
import { call } from '#test/support/in-process-host.ts';
import { type Arm, atLeast, type BenchResult, compare, interleave, startWorker } from './measure.ts';
import type { LoadTask } from './preview/load.ts';

const NONE = 'without a collector';

/** What is configured beside the collector. */
const ARMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'each request traced': {},
  'one of ten traced': { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' },
  'none traced': { OTEL_TRACES_SAMPLER: 'always_off' },
};

/** Requests of one run per second, with a collector that accepts all, against none. */
export async function benchTracing({
  warmUp = 2,
  rounds = 15,
  seconds = 2,
}: {
  readonly warmUp?: number;
  readonly rounds?: number;
  readonly seconds?: number;
} = {}): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'porthole-tracing-'));
  const collector = createServer((request, response) => request.resume().on('end', () => response.end()));
  await once(collector.listen(0, '127.0.0.1'), 'listening');
  const { port } = collector.address() as AddressInfo;
  const load = await startWorker(new URL('preview/load.ts', import.meta.url));
  const hosts: HostProcess[] = [];
  const start = async (name: string, environment: Readonly<Record<string, string>>) => {
    const host = await startHostProcess({ dataDir: join(folder, name), environment });
    hosts.push(host);
    const run = (await call(host.port, 'POST', '/api/runs', { body: {} })).json<{ run_id: string }>();
    const task: LoadTask = {
      kind: 'json',
      port: host.port,
      host: `127.0.0.1:${host.port}`,
      amount: seconds,
      path: `/api/runs/${run.run_id}`,
    };
    return async () => (await load.ask(task)) as number;
  };
  try {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
    const arms: Record<string, Arm> = { [NONE]: await start(NONE, {}) };
    for (const [name, more] of Object.entries(ARMS)) arms[name] = await start(name, { ...endpoint, ...more });
    const figures = await interleave(arms, rounds, warmUp);
    return Object.keys(ARMS).map((name) =>
      compare(`${name} / ${NONE}`, figures, [name, NONE], 'req/s', atLeast(0.95)),
    );
  } finally {
    await Promise.all([load.stop(), ...hosts.map((host) => host.end())]);
    collector.closeAllConnections();
    collector.close();
    await rm(folder, { recursive: true, force: true });
  }
}
