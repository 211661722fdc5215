import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { DATABASE_URL, MAIN, SERVICE_KEY } from '../infra/support/stack-files.ts';
import { PulumiStack, type UpdateResult } from '../pulumi/pulumi-stack.ts';
import { stacksMissing } from '../pulumi/pulumi-tools.ts';
import { suite } from '../support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type Cluster, cluster } from './fixture/cluster.ts';
import { GATEWAY_CLASS } from './fixture/objects.ts';
import { createGatewayCertificate } from './gateway-certificate.ts';
import { importServingImage, SERVING_IMAGE } from './serving-image.ts';
import { servingStackFile } from './serving-stack.ts';
import { NAMESPACES, previewRights, ZONE } from './pulumi-up/preview-rights.ts';

const MINUTE = 60_000;

/** Time that a new stack needs on a busy machine. */
const PATIENT = 5 * MINUTE;
jest.setTimeout(PATIENT);

const REFRESHED = { flags: ['--refresh'] };

suite('pulumi up on a real cluster', stacksMissing(), () => {
  let fixture: Cluster;
  let stack: PulumiStack;
  const folder = mkdtempSync(join(tmpdir(), 'porthole-up-'));

  const file = (
    preview: object = {},
    sandboxes: object = { image: 'porthole.test/sandbox:none' },
    functions: object = {},
  ) =>
    servingStackFile(
      fixture,
      { zone: ZONE, apiHost: 'porthole.test', namespaces: NAMESPACES },
      {
        'porthole:sandboxes': sandboxes,
        'porthole:functions': { image: SERVING_IMAGE, cpu: '10m', ...functions },
        'porthole:preview': { maxTotal: 3, ...preview },
      },
    );

  /** The error message of kubectl; undefined on success. */
  async function outcome(args: readonly string[], stdin?: string): Promise<string | undefined> {
    try {
      await fixture.kubectl(args, stdin);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  beforeAll(async () => {
    fixture = await cluster();
    await importServingImage(fixture);
    const dnsNames = [`*.${ZONE}`, 'porthole.test'] as const;
    await createGatewayCertificate(fixture.kubectl, { folder, namespace: NAMESPACES.gateway, dnsNames });
    const gateway = {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'agentweaver-preview-gateway', namespace: NAMESPACES.gateway },
      spec: {
        gatewayClassName: GATEWAY_CLASS,
        listeners: [
          {
            name: 'previews',
            hostname: '*.reference.preview.test',
            port: fixture.gateway.https.port,
            protocol: 'HTTPS',
            tls: { mode: 'Terminate', certificateRefs: [{ kind: 'Secret', name: 'wildcard' }] },
          },
        ],
      },
    };
    // The state after Porthole has followed the reference: a Gateway of this name, with fields that
    // another tool owns.
    await fixture.kubectl(
      ['apply', '--server-side', '--field-manager=reference', '--filename=-'],
      JSON.stringify(gateway),
    );
    const { kubeconfig } = fixture;
    stack = new PulumiStack({ project: 'porthole', stack: 'test', main: MAIN, kubeconfig });
  }, PATIENT);

  afterAll(async () => {
    // If a test failed: what `destroy` leaves, part of it outside the namespaces.
    await stack?.destroy();
    await fixture.kubectl(['delete', 'namespace', ...Object.values(NAMESPACES), '--ignore-not-found']);
    stack?.close();
    rmSync(folder, { recursive: true });
  }, PATIENT);

  const touched = ({ changes }: Pick<UpdateResult, 'changes'>) =>
    changes.map(({ op, name }) => `${op} ${name}`);

  test(
    'changes nothing in a first preview, and says what an update will create',
    async () => {
      const preview = await stack.preview(file());
      expect([preview.succeeded, preview.log]).toEqual([true, []]);
      expect(new Set(preview.changes.map(({ op }) => op))).toEqual(new Set(['create']));
      expect(await outcome(['get', 'namespace', NAMESPACES.functions])).toContain('NotFound');
      const up = await stack.up(file());
      expect([up.succeeded, up.log]).toEqual([true, []]);
      expect(touched(up).toSorted()).toEqual(touched(preview).toSorted());
      expect(await stack.outputs()).toEqual({
        apiUrl:
          fixture.gateway.https.port === 443
            ? 'https://porthole.test'
            : `https://porthole.test:${fixture.gateway.https.port}`,
        previewZone: ZONE,
        gatewayAddress: fixture.gateway.https.host,
      });
    },
    PATIENT,
  );

  test('takes over the Gateway that exists already', async () => {
    const listeners = 'jsonpath={range .spec.listeners[*]}{.name} {.hostname}{"\\n"}{end}';
    const gateway = ['gateway/agentweaver-preview-gateway', `--namespace=${NAMESPACES.gateway}`];
    expect(await fixture.kubectl(['get', ...gateway, `--output=${listeners}`])).toBe(
      `previews *.${ZONE}\napi porthole.test\n`,
    );
  });

  test('creates fixed routes that the gateway accepts and that find their Service', async () => {
    for (const name of ['porthole-api', 'porthole-fallback']) {
      for (const condition of ['Accepted', 'ResolvedRefs']) {
        const path = `jsonpath={.status.parents[0].conditions[?(@.type=="${condition}")].status}=True`;
        await fixture.kubectl([
          'wait',
          `--for=${path}`,
          `httproute/${name}`,
          `--namespace=${NAMESPACES.functions}`,
          '--timeout=120s',
        ]);
      }
    }
  });

  test('keeps every secret out of the state', () => {
    const state = stack.state();
    expect(state).toContain('porthole-functions-secrets');
    expect(state).not.toContain(DATABASE_URL);
    expect(state).not.toContain(SERVICE_KEY);
    expect(state).not.toContain(Buffer.from(SERVICE_KEY).toString('base64'));
  });

  test('changes nothing the second time, and keeps a number of replicas that another controller has set', async () => {
    const deployment = ['deployment/porthole', `--namespace=${NAMESPACES.functions}`];
    await fixture.kubectl(['scale', '--replicas=3', ...deployment]);
    // A refresh reports Pods that are not ready as a change.
    await fixture.kubectl(['rollout', 'status', ...deployment, '--timeout=120s']);
    const { log, changes } = await stack.up(file(), REFRESHED);
    expect({ log, changes }).toEqual({ log: [], changes: [] });
    // An update of the Deployment does not change them either.
    const changed = await stack.up(file({}, undefined, { memory: '640Mi' }));
    expect(touched(changed)).toContain('update porthole-functions');
    expect(await fixture.kubectl(['get', '--output=jsonpath={.spec.replicas}', ...deployment])).toBe('3');
    await stack.up(file());
  });

  describe('with a policy that others have changed', () => {
    const policy = ['networkpolicy/porthole-sandboxes-closed', `--namespace=${NAMESPACES.previews}`];
    const change = (manager: string) =>
      fixture.kubectl([
        'patch',
        ...policy,
        `--field-manager=${manager}`,
        '--type=merge',
        '--patch={"spec":{"policyTypes":["Ingress"]}}',
      ]);
    const update = ['update porthole-network-closed'];

    test('sees it, and shows it in a preview, with a refresh alone', async () => {
      await change('kubectl-patch');
      // Without a refresh Pulumi compares with its state alone.
      expect(touched(await stack.up(file()))).toEqual([]);
      expect(touched(await stack.preview(file(), REFRESHED))).toEqual(update);
    });

    test.each(['kubectl-patch', 'another-tool'])(
      'puts right what %s has changed, and nothing else',
      async (manager) => {
        await change(manager);
        const put = await stack.up(file(), REFRESHED);
        expect({ log: put.log, touched: touched(put) }).toEqual({ log: [], touched: update });
        expect(await fixture.kubectl(['get', '--output=jsonpath={.spec.policyTypes}', ...policy])).toBe(
          '["Ingress","Egress"]',
        );
      },
    );
  });

  test('changes the network policy, the admission of previews and the functions’ ConfigMap for another port range, and rolls their pods', async () => {
    const narrowed = await stack.up(file({ allowedPortMax: 8000 }));
    const changed = narrowed.changes.map(({ op, name, paths }) => [op, name, ...paths]);
    expect(changed.toSorted(([, a = ''], [, b = '']) => a.localeCompare(b))).toEqual([
      [
        'update',
        'porthole-admission-preview-routes',
        'spec.validations[4].expression',
        'spec.validations[4].message',
      ],
      [
        'update',
        'porthole-admission-preview-services',
        'spec.validations[4].expression',
        'spec.validations[4].message',
      ],
      [
        'update',
        'porthole-functions',
        'spec.template.metadata.annotations["porthole.sandbox.users.io/environment-checksum"]',
      ],
      ['update', 'porthole-functions-environment', 'data.Sandbox__Preview__AllowedPortMax'],
      ['update', 'porthole-network-from-gateway', 'spec.ingress[0].ports[0].endPort'],
    ]);
    await stack.up(file());
  });

  test('gets no warning from the API server about the admission policies', async () => {
    const path = '{range .items[*]}{.metadata.name}{.status.typeChecking.expressionWarnings}{"\\n"}{end}';
    const selected = ['--selector=app.kubernetes.io/part-of=porthole', `--output=jsonpath=${path}`];
    const found = await fixture.kubectl(['get', 'validatingadmissionpolicies', ...selected]);
    const ours = found.split('\n').filter((line) => line.startsWith(NAMESPACES.functions));
    expect(ours).toEqual([
      'up-functions-foreign-objects',
      'up-functions-preview-routes',
      'up-functions-preview-services',
      'up-functions-sandbox-claims',
      'up-functions-sandbox-modes',
      'up-functions-sandbox-pods',
      'up-functions-sandbox-volumes',
      'up-functions-zone-claims',
    ]);
  });

  suite('with agent-sandbox', definitionsMissing(), () => {
    const withPools = (more: object = {}) =>
      file(
        {},
        {
          ...more,
          templates: { node: { image: 'porthole.test/sandbox:none', runtimeClassName: 'gvisor' } },
          warmPools: { ready: { template: 'node', replicas: 2 } },
        },
      );
    beforeAll(() => installDefinitions(fixture.kubectl));

    test('templates and pools are made, the functions claim from them, and make no pods any more', async () => {
      const { changes } = await stack.up(withPools());
      expect(changes.map(({ op, name, paths }) => [op, name, ...paths])).toEqual(
        expect.arrayContaining([
          ['create', 'porthole-sandboxes-template-node'],
          ['create', 'porthole-sandboxes-pool-ready'],
        ]),
      );
      const changed = changes.filter(({ op }) => op !== 'create').map(({ op, name }) => `${op} ${name}`);
      expect(changed.toSorted()).toEqual([
        'update porthole-access-functions-role',
        'update porthole-access-lifecycle-role',
        'update porthole-access-snapshots-clean-role',
        'update porthole-admission-sandbox-claims',
        'update porthole-functions',
        'update porthole-functions-environment',
        'update porthole-quota-sandboxes',
      ]);
    });

    test('changes a pool that others have scaled, and leaves the size of one with a target to the functions', async () => {
      const pool = ['sandboxwarmpools/ready', `--namespace=${NAMESPACES.previews}`];
      const size = () => fixture.kubectl(['get', '--output=jsonpath={.spec.replicas}', ...pool]);
      const scale = () => fixture.kubectl(['scale', '--replicas=7', ...pool]);
      await scale();
      // Nothing of what the API server has added to templates and pools counts as a change.
      expect(touched(await stack.up(withPools(), REFRESHED))).toEqual([
        'update porthole-sandboxes-pool-ready',
      ]);
      expect(await size()).toBe('2');

      await stack.up(withPools({ warmPoolTarget: 3 }));
      await scale();
      const { log, changes } = await stack.up(withPools({ warmPoolTarget: 4 }), REFRESHED);
      expect([log, changes.map(({ name }) => name)]).toEqual([
        [],
        ['porthole-functions-environment', 'porthole-functions'],
      ]);
      expect(await size()).toBe('7');

      const back = await stack.up(withPools(), REFRESHED);
      expect([back.log, await size()]).toEqual([[], '2']);
    });

    test('deletes templates and pools with the setting', async () => {
      const back = touched(await stack.up(file()));
      expect(back.filter((line) => line.startsWith('delete')).toSorted()).toEqual([
        'delete porthole-sandboxes-pool-ready',
        'delete porthole-sandboxes-template-node',
      ]);
    });
  });

  previewRights(() => fixture, outcome);

  test(
    'leaves nothing after destroy',
    async () => {
      const { succeeded, log } = await stack.destroy();
      expect([succeeded, log]).toEqual([true, []]);
      const of = ['--all-namespaces', '--selector=app.kubernetes.io/part-of=porthole', '--output=name'];
      const kinds =
        'validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces,gateways,httproutes';
      const left = (await fixture.kubectl(['get', kinds, ...of]))
        .split('\n')
        .filter((name) => name.includes('/up-'));
      expect(left).toEqual([]);
      for (const namespace of [NAMESPACES.previews, NAMESPACES.functions]) {
        expect(await outcome(['get', 'namespace', namespace])).toContain('NotFound');
      }
      const inGateway = await fixture.kubectl([
        'get',
        'gateways,httproutes,secrets',
        `--namespace=${NAMESPACES.gateway}`,
        '--output=name',
      ]);
      expect(inGateway.trim()).toBe('secret/wildcard');
      expect(stack.resources()).toEqual([]);
    },
    PATIENT,
  );
});
