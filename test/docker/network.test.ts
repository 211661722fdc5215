/** The network of containers, with a proxy of this test in place of the internet. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { installPackage } from '#test/host/support/install-package.ts';
import { execute } from '#test/host/support/commands.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { answerRegistry } from '#test/support/npm-registry.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

const REGISTRY = 'http://registry.npmjs.org';

suite('the network of a container', engineMissing(), () => {
  let engine: TestEngine;
  let porthole: TestHost;
  const asked: string[] = [];
  const internet = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (!answerRegistry(request, response, REGISTRY)) response.writeHead(404).end();
  });

  beforeAll(async () => {
    internet.listen(0, '127.0.0.1');
    await once(internet, 'listening');
    const proxy = `http://127.0.0.1:${(internet.address() as AddressInfo).port}`;
    engine = await openTestEngine();
    porthole = await startTestHost({ ...dockerEnvironment(engine), http_proxy: proxy, https_proxy: proxy });
  }, 120_000);
  afterAll(async () => {
    await porthole?.end();
    await engine?.stop();
    internet.close().closeAllConnections();
  });

  test('lets npm install from a registry, and nothing else', async () => {
    const body = { network: 'packages', ask: false };
    const made = await porthole.call('POST', '/v1/sandbox', { body });
    const { id } = made.json<{ id: string }>();
    const { stdout, stderr, exitCode } = await installPackage(porthole, id, REGISTRY);
    expect([exitCode, stdout.toString(), stderr.toString()]).toEqual([
      0,
      '// tiny is here\n',
      expect.stringContaining('added 1 package'),
    ]);
    expect(asked).toContain(`${REGISTRY}/tiny`);
    const refused = await execute(porthole, id, ['curl', '-sS', 'http://evil.example.test/']);
    expect(refused.stdout.toString()).toContain('is blocked (not on the list)');
    expect(asked.filter((url) => url.includes('evil'))).toEqual([]);
  }, 180_000);
});
