/** A host with containers as sandboxes. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '#host/config/config.ts';
import { createLogger } from '#host/telemetry/logger.ts';
import { startHost } from '#host/start-host.ts';
import { execute, serve } from '#test/host/support/commands.ts';
import { makeRun, startPreview, visit } from '#test/host/support/runs.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('a host of containers', engineMissing(), () => {
  let engine: TestEngine;
  let porthole: TestHost;
  const start = (dataDir?: string) =>
    startTestHost(
      { ...dockerEnvironment(engine), PORTHOLE_SANDBOX_MEMORY_MIB: '512', PORTHOLE_SANDBOX_CPUS: '0.5' },
      dataDir === undefined ? {} : { dataDir },
    );

  beforeAll(async () => {
    engine = await openTestEngine();
    porthole = await start();
  }, 120_000);
  afterAll(async () => {
    await porthole.end();
    await engine.stop();
  });

  test('says what is enforced, and warns of what is not', async () => {
    expect(await porthole.host.describe()).toMatch(
      /^docker, containers of Docker \d\S*: 0\.5 cores, 512 MiB of memory, 4096 processes, 10240 MiB (a file|of disk), no network$/,
    );
    const { warnings = [] } = (await porthole.call('GET', '/health')).json<{ warnings?: string[] }>();
    expect(warnings).toEqual(porthole.host.services.warnings());
  });

  test('shows a server in a container that has no network and publishes no port', async () => {
    const run = await makeRun(porthole);
    await serve(porthole, run.sandboxId, 3000, 'hello from a container');
    const { session_id, ready, pod_name } = await startPreview(porthole, run.runId, 3000);
    expect(ready).toBe(true);
    expect((await visit(porthole, session_id, porthole.host.port)).text).toBe('hello from a container');
    const { NetworkSettings } = await engine.docker.getContainer(pod_name).inspect();
    expect(Object.keys(NetworkSettings.Networks)).toEqual(['none']);
    expect(NetworkSettings.Ports).toEqual({});
  });

  test('ends without its containers: what runs in them runs on, and the next host shows it under the same URL', async () => {
    const run = await makeRun(porthole);
    await serve(porthole, run.sandboxId, 3000, 'still here');
    const { session_id } = await startPreview(porthole, run.runId, 3000);
    await porthole.close();
    porthole = await start(porthole.dataDir);
    await porthole.host.recovered;
    expect((await visit(porthole, session_id, porthole.host.port)).text).toBe('still here');
    expect(porthole.logged.filter((line) => line.includes('sandbox started again'))).toEqual([]);
  });

  test('brings back on its start what has stopped, and removes what no record knows', async () => {
    const run = await makeRun(porthole);
    await execute(porthole, run.sandboxId, ['sh', '-c', 'echo kept >kept']);
    const { sandboxes } = porthole.host.services;
    const { podName } = await sandboxes.inspect(run.sandboxId);
    await sandboxes.create({ id: 'orphan' });
    await porthole.close();
    await engine.docker.getContainer(podName).kill();
    porthole = await start(porthole.dataDir);
    await porthole.host.recovered;
    expect((await execute(porthole, run.sandboxId, ['cat', 'kept'])).stdout.toString()).toBe('kept\n');
    expect(await porthole.host.services.sandboxes.inspect('orphan')).toMatchObject({ state: 'absent' });
  });

  test('brings back a container that died for its next command', async () => {
    const run = await makeRun(porthole);
    const { podName } = await porthole.host.services.sandboxes.inspect(run.sandboxId);
    await engine.docker.getContainer(podName).kill();
    expect((await execute(porthole, run.sandboxId, ['echo', 'back'])).stdout.toString()).toBe('back\n');
  });

  test('leaves nothing on the engine of a sandbox that is deleted', async () => {
    const run = await makeRun(porthole);
    const { podName } = await porthole.host.services.sandboxes.inspect(run.sandboxId);
    expect((await porthole.call('DELETE', `/v1/sandbox/${run.sandboxId}`)).status).toBe(204);
    await expect(engine.docker.getContainer(podName).inspect()).rejects.toMatchObject({ statusCode: 404 });
    await expect(engine.docker.getVolume(podName).inspect()).rejects.toMatchObject({ statusCode: 404 });
  });

  describe('without an engine', () => {
    test('does not start, and says why', async () => {
      const config = readConfig({
        PORT: '0',
        PORTHOLE_DATA_DIR: `${porthole.dataDir}/other`,
        PORTHOLE_PROVIDER: 'docker',
        DOCKER_HOST: 'unix:///nowhere/docker.sock',
      });
      const log = await createLogger({ level: 'silent', secrets: [] });
      await expect(startHost(config, log)).rejects.toThrow(
        /PORTHOLE_PROVIDER: docker, but the container engine at unix:\/\/\/nowhere\/docker\.sock cannot be used \(.*ENOENT.*\): start Docker/,
      );
    });
  });
});
