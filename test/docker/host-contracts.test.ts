/** What hosts do on every kind of sandbox, with containers. All share one engine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { agentToolsContract } from '#test/contracts/agent-tools.contract.ts';
import { bridgeContract } from '#test/contracts/bridge.contract.ts';
import { checkpointsContract } from '#test/contracts/checkpoints.contract.ts';
import { doctorContract } from '#test/contracts/doctor.contract.ts';
import { editorContract } from '#test/contracts/editor.contract.ts';
import { lastingServersContract } from '#test/contracts/lasting-servers.contract.ts';
import { mountedBucketsContract } from '#test/contracts/mounted-buckets.contract.ts';
import { networkSecretsContract } from '#test/contracts/network-secrets.contract.ts';
import { CREDENTIALS, noCredentialsContract } from '#test/contracts/no-credentials.contract.ts';
import { portholeCommandContract } from '#test/contracts/porthole-command.contract.ts';
import { sandboxLifecycleContract } from '#test/contracts/sandbox-lifecycle.contract.ts';
import { warmPoolContract } from '#test/contracts/warm-pool.contract.ts';
import { openManagedPools } from '#test/core/use-cases/warm-pool/managed-pool-harness.ts';
import { startHostProcess } from '#test/support/host-process.ts';
import { call, startTestHost } from '#test/support/in-process-host.ts';
import { bucketsMissing } from '#test/support/seaweedfs.ts';
import { suite } from '#test/support/suite.ts';
import { dockerEnvironment } from './support/docker-environment.ts';
import { engineMissing, openTestEngine, type TestEngine } from './support/engine.ts';

suite('in containers', engineMissing(), () => {
  let engine: TestEngine;
  const settings = () => dockerEnvironment(engine);
  beforeAll(async () => {
    engine = await openTestEngine();
  }, 120_000);
  afterAll(() => engine.stop());

  portholeCommandContract(settings);
  describe('the doctor', () => doctorContract(settings));
  describe('the tools of an agent', () => agentToolsContract(settings));
  describe('secrets that never enter a container', () => void networkSecretsContract(settings));
  // The tests' image has no Python.
  describe('the editor', () => editorContract(settings, ['node']));
  suite('mounting buckets', bucketsMissing, () => {
    mountedBucketsContract(async () => ({ settings: settings(), end: async () => {} }));
  });

  const key = 'the-key-of-the-bridge';
  bridgeContract(async () => {
    const { host, end } = await startTestHost({ SANDBOX_API_KEY: key, ...settings() });
    return { port: host.port, key, end };
  }, 'provider');

  describe('checkpoints', () => {
    checkpointsContract(async () => {
      const porthole = await startTestHost(settings());
      return { porthole, end: () => porthole.end() };
    }, 'provider');
  });

  describe('declared servers', () => {
    lastingServersContract(async () => {
      const porthole = await startTestHost(settings());
      return { porthole, end: () => porthole.end() };
    });
  });

  describe('the lives of containers', () => {
    sandboxLifecycleContract(
      async (clock) => {
        const porthole = await startTestHost({ SANDBOX_RETENTION_HOURS: '1', ...settings() }, { clock });
        return {
          porthole,
          async remains(id) {
            const { Volumes } = await engine.docker.listVolumes();
            return Volumes.some(({ Labels }) => Object.values(Labels ?? {}).includes(id));
          },
          end: () => porthole.end(),
        };
      },
      { seesTraffic: true },
    );
  });

  describe('a pool of containers', () => {
    warmPoolContract(() => openManagedPools(engine.openProvider(), () => Promise.resolve()), {
      hands: true,
      part: 'provider',
    });
  });

  describe('credentials', () => {
    noCredentialsContract(
      async () => {
        const dataDir = mkdtempSync(join(tmpdir(), 'porthole-credentials-'));
        const host = await startHostProcess({ dataDir, environment: { ...CREDENTIALS, ...settings() } });
        return {
          porthole: { call: (method, path, options) => call(host.port, method, path, options) },
          async end() {
            const token = CREDENTIALS.SANDBOX_API_KEY;
            const { sandboxes } = (await call(host.port, 'GET', '/v1/sandbox', { token })).json<{
              sandboxes: { id: string }[];
            }>();
            for (const { id } of sandboxes) await call(host.port, 'DELETE', `/v1/sandbox/${id}`, { token });
            await host.end();
            rmSync(dataDir, { recursive: true, force: true });
          },
        };
      },
      { hasChannel: true },
    );
  });
});
