import { beforeAll, describe, expect, test } from '@jest/globals';
import { type ProgramResult, recordProgram, type Registration } from '../pulumi/record-program.ts';
import { pathsWhere, type Properties, UNKNOWN } from '../pulumi/wire-values.ts';
import {
  DATABASE_URL,
  MAIN,
  secretTexts,
  SERVICE_KEY,
  SIGNING_KEYS,
  type StackFile,
  stackFile,
} from './support/stack-files.ts';

/** Runs the program as a preview does. */
async function run(
  file: StackFile = stackFile(),
  read: (type: string, id: string) => Properties = () => ({}),
): Promise<ProgramResult> {
  return recordProgram({
    project: 'porthole',
    stack: 'test',
    main: MAIN,
    stackFile: file,
    dryRun: true,
    read,
  });
}

/** Time that starting the program takes on a busy machine. */
const PATIENT = 180_000;

const component = (concern: string) => `porthole:infra:${concern}`;
const shortType = ({ type }: Registration) => type.replace(/^kubernetes:/, '');

describe('the program', () => {
  let result: ProgramResult;
  beforeAll(async () => {
    result = await run();
  }, PATIENT);
  const named = (name: string, type?: string): Registration => {
    const found = result.registrations.find(
      (each) => each.name === name && (type === undefined || shortType(each) === type),
    );
    if (found === undefined) throw new Error(`nothing is named ${name}`);
    return found;
  };

  test('runs to its end without a word', () => {
    expect({ succeeded: result.succeeded, output: result.output }).toEqual({ succeeded: true, output: '' });
  });

  test('declares these objects, under these names', () => {
    const objects = result.registrations.filter(({ type }) => type.startsWith('kubernetes:'));
    const namespace = ({ metadata }: { metadata?: { namespace?: string } }) => metadata?.namespace ?? '-';
    expect(
      objects
        .map((each) => {
          const { name } = each.inputs['metadata'] as { name: string };
          return `${shortType(each)} ${namespace(each.inputs)}/${name}`;
        })
        .toSorted(),
    ).toEqual([
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-foreign-objects',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-preview-routes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-preview-services',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-sandbox-claims',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-sandbox-modes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-sandbox-pods',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-sandbox-volumes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy -/porthole-zone-claims',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-foreign-objects',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-preview-routes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-preview-services',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-sandbox-claims',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-sandbox-modes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-sandbox-pods',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-sandbox-volumes',
      'admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding -/porthole-zone-claims',
      'apps/v1:Deployment porthole/porthole',
      'autoscaling/v2:HorizontalPodAutoscaler porthole/porthole',
      'batch/v1:CronJob porthole/porthole-lifecycle',
      'batch/v1:CronJob porthole/porthole-reaper',
      'batch/v1:CronJob porthole/porthole-snapshots-clean',
      'cert-manager.io/v1:Certificate agentweaver/porthole-api-tls',
      'cert-manager.io/v1:Certificate agentweaver/porthole-preview-tls',
      'core/v1:ConfigMap porthole/porthole',
      'core/v1:Namespace -/agentweaver',
      'core/v1:Namespace -/porthole',
      'core/v1:ResourceQuota agentweaver/porthole-previews',
      'core/v1:ResourceQuota agentweaver/porthole-sandboxes',
      'core/v1:Secret porthole/porthole',
      'core/v1:Service porthole/porthole',
      'core/v1:ServiceAccount porthole/porthole',
      'core/v1:ServiceAccount porthole/porthole-lifecycle',
      'core/v1:ServiceAccount porthole/porthole-reaper',
      'core/v1:ServiceAccount porthole/porthole-snapshots-clean',
      'gateway.networking.k8s.io/v1:Gateway agentweaver/agentweaver-preview-gateway',
      'gateway.networking.k8s.io/v1:HTTPRoute porthole/porthole-api',
      'gateway.networking.k8s.io/v1:HTTPRoute porthole/porthole-fallback',
      'networking.k8s.io/v1:NetworkPolicy agentweaver/porthole-guests-from-functions',
      'networking.k8s.io/v1:NetworkPolicy agentweaver/porthole-previews-from-gateway',
      'networking.k8s.io/v1:NetworkPolicy agentweaver/porthole-sandboxes-channel',
      'networking.k8s.io/v1:NetworkPolicy agentweaver/porthole-sandboxes-closed',
      'networking.k8s.io/v1:NetworkPolicy agentweaver/porthole-sandboxes-internet',
      'networking.k8s.io/v1:NetworkPolicy porthole/porthole-calls',
      'networking.k8s.io/v1:NetworkPolicy porthole/porthole-functions',
      'policy/v1:PodDisruptionBudget porthole/porthole',
      'rbac.authorization.k8s.io/v1:ClusterRole -/porthole-zone:preview.test',
      'rbac.authorization.k8s.io/v1:Role agentweaver/porthole',
      'rbac.authorization.k8s.io/v1:Role agentweaver/porthole-lifecycle',
      'rbac.authorization.k8s.io/v1:Role agentweaver/porthole-reaper',
      'rbac.authorization.k8s.io/v1:Role agentweaver/porthole-snapshots-clean',
      'rbac.authorization.k8s.io/v1:RoleBinding agentweaver/porthole',
      'rbac.authorization.k8s.io/v1:RoleBinding agentweaver/porthole-lifecycle',
      'rbac.authorization.k8s.io/v1:RoleBinding agentweaver/porthole-reaper',
      'rbac.authorization.k8s.io/v1:RoleBinding agentweaver/porthole-snapshots-clean',
    ]);
  });

  test('has one component a concern below the stack, and every object below its component', () => {
    const root = named('porthole', component('Porthole'));
    const concerns = result.registrations.filter(({ parent }) => parent === root.urn && parent !== '');
    expect(concerns.map(shortType).toSorted()).toEqual([
      ...['Access', 'Admission', 'Functions', 'Gateway', 'Lifecycle', 'Namespaces', 'Network'].map(component),
      ...['Quota', 'Reaper', 'Routes', 'Sandboxes', 'Snapshots', 'WarmPool'].map(component),
      'pulumi:providers:kubernetes',
    ]);
    const components = new Set(concerns.map(({ urn }) => urn));
    const objects = result.registrations.filter(({ type }) => type.startsWith('kubernetes:'));
    for (const each of objects) expect(components).toContain(each.parent);
  });

  test('talks to the cluster through the one provider that changes ConfigMaps and Secrets in place', () => {
    const provider = named('porthole-cluster');
    expect(provider.inputs).toMatchObject({
      enableConfigMapMutable: 'true',
      enableSecretMutable: 'true',
      enablePatchForce: 'true',
    });
    expect(provider.inputs).not.toHaveProperty('upsertExistingObjects');
    const objects = result.registrations.filter(({ type }) => type.startsWith('kubernetes:'));
    for (const each of objects) expect(each.provider).toContain(provider.urn);
  });

  test.each([
    ['porthole-namespaces-agentweaver', 'porthole-namespaces-zone'],
    ['porthole-network', 'porthole-namespaces-agentweaver'],
    ['porthole-gateway', 'porthole-namespaces-agentweaver'],
    ['porthole-network-from-gateway', 'porthole-network-closed'],
    ['porthole-network-internet', 'porthole-network-closed'],
    ['porthole-admission-preview-routes-binding', 'porthole-admission-preview-routes'],
    ['porthole-functions', 'porthole-network-closed'],
    ['porthole-functions', 'porthole-network-functions'],
    ['porthole-functions', 'porthole-quota'],
    ['porthole-functions', 'porthole-admission-preview-routes-binding'],
    ['porthole-functions', 'porthole-access-functions-binding'],
    ['porthole-reaper', 'porthole-access-reaper-binding'],
    ['porthole-reaper', 'porthole-functions-environment'],
    ['porthole-lifecycle', 'porthole-access-lifecycle-binding'],
    ['porthole-lifecycle', 'porthole-functions-environment'],
    ['porthole-snapshots', 'porthole-access-snapshots-clean-binding'],
    ['porthole-snapshots', 'porthole-functions-environment'],
    ['porthole-functions-service', 'porthole-functions'],
    ['porthole-routes', 'porthole-functions-service'],
    ['porthole-routes', 'porthole-gateway'],
  ])('makes %s after %s', (later, earlier) => {
    const urns = result.registrations.filter(({ name }) => name === earlier).map(({ urn }) => urn);
    expect(urns).not.toEqual([]);
    const needed = result.registrations
      .filter(({ name }) => name === later)
      .flatMap(({ dependencies }) => dependencies);
    expect(needed.some((urn) => urns.includes(urn))).toBe(true);
  });

  test('keeps secrets in the one Secret, and marks them as such', () => {
    expect(secretTexts(named('porthole-functions-secrets'))).toEqual({
      DATABASE_URL,
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      SANDBOX_API_KEY: SERVICE_KEY,
    });
    const elsewhere = JSON.stringify(result.registrations.map(({ inputs }) => inputs));
    for (const value of [DATABASE_URL, SIGNING_KEYS, SERVICE_KEY]) {
      expect(elsewhere).not.toContain(JSON.stringify(value).slice(1, -1));
    }
  });

  test('leaves the number of replicas alone once they run', () => {
    expect(named('porthole-functions', 'apps/v1:Deployment').ignoreChanges).toEqual(['spec.replicas']);
  });

  test('uses nothing that a preview cannot know, but for the address of the gateway', () => {
    for (const { inputs } of result.registrations) {
      expect(pathsWhere(inputs, (value) => value === UNKNOWN)).toEqual([]);
    }
    expect(result.outputs).toEqual({
      apiUrl: 'https://porthole.example.com',
      previewZone: 'preview.test',
      gatewayAddress: UNKNOWN,
    });
  });
});

describe('the program of a stack that asks for more', () => {
  test(
    'fails at the preview without the definitions of agent-sandbox',
    async () => {
      const sandboxes = {
        templates: { node: { image: 'sandbox@sha256:1' } },
        warmPools: { ready: { template: 'node' } },
      };
      const { succeeded, output } = await run(stackFile({ 'porthole:sandboxes': sandboxes }), (type, id) => {
        throw new Error(`the ${type} ${id} does not exist`);
      });
      expect(succeeded).toBe(false);
      expect(output).toContain(
        'CustomResourceDefinition sandboxtemplates.extensions.agents.x-k8s.io does not exist',
      );
    },
    PATIENT,
  );

  test(
    'declares templates before their pools, and what sandboxes may reach',
    async () => {
      const sandboxes = {
        templates: { node: { image: 'sandbox@sha256:1' } },
        warmPools: { ready: { template: 'node', replicas: 2 } },
        egress: ['0.0.0.0/0'],
      };
      const { registrations } = await run(stackFile({ 'porthole:sandboxes': sandboxes }));
      const find = (name: string) => registrations.find((each) => each.name === name);
      const template = find('porthole-sandboxes-template-node');
      expect(template?.type).toBe('kubernetes:extensions.agents.x-k8s.io/v1beta1:SandboxTemplate');
      expect(find('porthole-sandboxes-pool-ready')?.dependencies).toContain(template?.urn);
      const functions = registrations.filter(({ name }) => name === 'porthole-functions');
      expect(functions.flatMap(({ dependencies }) => dependencies)).toContain(template?.urn);
      expect(find('porthole-network-egress')?.dependencies).toContain(find('porthole-network-closed')?.urn);
    },
    PATIENT,
  );

  test(
    'keeps the keys of the bucket of archives in a separate Secret, which is created before its readers',
    async () => {
      const keys = {
        'porthole:archiveAccessKeyId': 'id-of-the-bucket',
        'porthole:archiveSecretAccessKey': 'secret-of-the-bucket',
      };
      const file = stackFile({ 'porthole:archives': { bucket: 'kept' } });
      const { registrations, succeeded } = await run({ ...file, secrets: { ...file.secrets, ...keys } });
      expect(succeeded).toBe(true);
      const secret = registrations.find(({ name }) => name === 'porthole-functions-archives');
      if (secret === undefined) throw new Error('there is no Secret of archives');
      expect(secret.inputs['metadata']).toMatchObject({ name: 'porthole-archives', namespace: 'porthole' });
      expect(secretTexts(secret)).toEqual({
        PORTHOLE_ARCHIVE_ACCESS_KEY_ID: 'id-of-the-bucket',
        PORTHOLE_ARCHIVE_SECRET_ACCESS_KEY: 'secret-of-the-bucket',
      });
      expect(JSON.stringify(registrations.map(({ inputs }) => inputs))).not.toContain('of-the-bucket');
      for (const reader of ['porthole-functions', 'porthole-lifecycle']) {
        const needed = registrations
          .filter(({ name }) => name === reader)
          .flatMap(({ dependencies }) => dependencies);
        expect(needed).toContain(secret.urn);
      }
    },
    PATIENT,
  );

  test(
    'declares no Secret where others keep it',
    async () => {
      const file = stackFile({ 'porthole:functions': { image: 'x', existingSecret: 'kept' } });
      const { registrations, succeeded } = await run({ ...file, secrets: {} });
      expect(succeeded).toBe(true);
      expect(registrations.filter(({ type }) => type === 'kubernetes:core/v1:Secret')).toEqual([]);
    },
    PATIENT,
  );
});

test(
  'ends at a stack file that cannot be used before it declares anything, with every problem',
  async () => {
    const file = stackFile({
      'porthole:zone': 'UPPER',
      'porthole:functions': { image: 'x', replicas: 0 },
    });
    const { succeeded, registrations, output } = await run(file);
    expect(succeeded).toBe(false);
    expect(registrations.map(({ type }) => type)).toEqual(['pulumi:pulumi:Stack']);
    expect(output).toContain(`The stack's configuration has 2 problems:
  - porthole:zone: must be a lower-case DNS name of two labels or more, got "UPPER"
  - porthole:functions.replicas: must be a whole number from 1 to 100, got 0`);
  },
  PATIENT,
);
