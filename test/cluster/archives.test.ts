/**
 * Sandboxes of a cluster are archived and restored, by accounts with only the rights that the
 * infrastructure program grants.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { pinnedClock, type PinnedClock } from '#test/doubles/pinned-clock.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { type S3Server, s3Missing, startS3 } from '#test/support/seaweedfs.ts';
import { SIGNING_KEYS } from '#test/infra/support/stack-files.ts';
import { suite } from '#test/support/suite.ts';
import { archiveEnvironmentPlan } from '../../infra/archives.plan.ts';
import { textsOf } from '../../infra/variable-rows.ts';
import { sandboxRows } from '../../infra/sandbox-provider.plan.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type StandIn, startStandIn } from './agent-sandbox-stand-in/stand-in.ts';
import { cluster, missing } from './fixture/cluster.ts';
import { kubeconfigOf } from './guards/actor.ts';
import { type GuardedStack, openGuardedStack } from './guards/guarded-stack.ts';

const RETENTION_MS = 3_600_000;

const POOL = {
  templates: { plain: { image: SANDBOX_IMAGE, memory: '256Mi' } },
  warmPools: { cold: { template: 'plain', replicas: 0 } },
};

suite('archives of pods', missing() ?? s3Missing, () => {
  areKeptAndRestored({ image: SANDBOX_IMAGE });
});

suite('archives of claims of agent-sandbox', missing() ?? s3Missing ?? definitionsMissing(), () => {
  beforeAll(async () => installDefinitions((await cluster()).kubectl), 60_000);
  areKeptAndRestored(POOL, ({ admin, config }) => startStandIn(admin.access, config.namespaces.previews));
});

function areKeptAndRestored(sandboxes: object, startController?: (stack: GuardedStack) => StandIn): void {
  let server: S3Server;
  let stack: GuardedStack;
  let controller: StandIn | undefined;
  let clock: PinnedClock;
  let folder: string;
  let host: TestHost | undefined;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'porthole-archives-'));
    clock = pinnedClock(new Date());
    server = await startS3();
    await server.request('PUT', '/kept');
    const fixture = await cluster();
    await importSandboxImage(fixture);
    stack = await openGuardedStack(fixture, sandboxes, {
      bucket: 'kept',
      endpoint: server.endpoint,
      existingSecret: 'keys',
    });
    controller = startController?.(stack);
  }, 180_000);
  afterAll(async () => {
    await host?.end();
    await controller?.stop();
    await stack?.close();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  }, 120_000);

  /** The environment of the program's containers, with the values of the Secret. */
  const environment = (): Record<string, string> => {
    const { config } = stack;
    const keys: Readonly<Record<string, string>> = {
      PORTHOLE_ARCHIVE_ACCESS_KEY_ID: server.accessKeyId,
      PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: server.secretAccessKey,
    };
    const archives = archiveEnvironmentPlan(config).map((variable): [string, string] => [
      variable.name,
      'value' in variable ? variable.value : (keys[variable.valueFrom.secretKeyRef.key] ?? ''),
    ]);
    return {
      ...textsOf(sandboxRows(config.sandboxes)),
      ...Object.fromEntries(archives),
      SANDBOX_RETENTION_HOURS: '1',
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      PORTHOLE_GUEST_REACH: 'address',
      Sandbox__Preview__ZoneSuffix: config.zone,
      Sandbox__Preview__GatewayName: config.gateway.name,
      Sandbox__Preview__GatewayNamespace: config.namespaces.gateway,
      Sandbox__Preview__Namespace: config.namespaces.previews,
    };
  };
  /**
   * A host on the same records as the previous one, which must have ended, with the token of this
   * account.
   */
  const startAs = async (account: string): Promise<TestHost> => {
    const file = join(folder, account);
    writeFileSync(file, await kubeconfigOf((await stack.as(account)).access));
    const before = process.env['KUBECONFIG'];
    process.env['KUBECONFIG'] = file;
    try {
      host = await startTestHost(environment(), { clock, dataDir: join(folder, 'data') });
      return host;
    } finally {
      if (before === undefined) delete process.env['KUBECONFIG'];
      else process.env['KUBECONFIG'] = before;
    }
  };
  const volumes = () => stack.kubectl(['get', 'persistentvolumeclaims', '--output=name']);
  const failures = (logged: readonly string[]) => logged.filter((line) => line.includes('not looked after'));

  test('keep a sandbox that is stopped past its retention before the lifecycle destroys it, and begin a new one', async () => {
    const made = await startAs('porthole');
    const { id } = (await made.call('POST', '/v1/sandbox', { body: {} })).json<{ id: string }>();
    const file = (of: string) => `/v1/sandbox/${of}/file/workspace/src/kept`;
    expect((await made.call('PUT', file(id), { body: 'kept' })).status).toBe(200);
    expect((await made.call('POST', `/v1/sandbox/${id}/stop`)).status).toBe(200);
    expect(await volumes()).not.toBe('');
    await made.close();

    clock.advance(RETENTION_MS + 1_000);
    const lifecycle = await startAs('porthole-lifecycle');
    await lifecycle.host.lifecycle();
    expect(failures(lifecycle.logged)).toEqual([]);
    expect((await lifecycle.host.services.sandboxes.inspect(id)).state).toBe('absent');
    expect(await volumes()).toBe('');
    await lifecycle.close();

    const restored = await startAs('porthole');
    const listed = (await restored.call('GET', '/api/archives')).json<{ archives: { id: string }[] }>();
    expect(listed.archives).toMatchObject([{ sandbox_id: id, left_out: 0 }]);
    const again = await restored.call('POST', '/v1/sandbox', {
      body: { from_archive: listed.archives[0]?.id },
    });
    const { id: anew } = again.json<{ id: string }>();
    expect(anew).not.toBe(id);
    expect((await restored.call('GET', file(anew))).text).toBe('kept');
  }, 180_000);
}
