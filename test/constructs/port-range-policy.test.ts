import { expect, test } from '@jest/globals';
import { App, Chart } from 'cdk8s';
import { PortRangePolicy, type PortRangePolicyProps } from '#constructs/port-range-policy.ts';

const PROPS: PortRangePolicyProps = {
  name: 'preview-ports',
  namespace: 'previews',
  minPort: 3000,
  maxPort: 3999,
  gatewayPods: { namespace: 'traefik', labels: { app: 'traefik' } },
};

interface Spec {
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly { readonly expression: string; readonly message: string }[];
}
const made = (more: Partial<PortRangePolicyProps> = {}) =>
  new PortRangePolicy(new Chart(new App(), 'chart', { disableResourceNameHashes: true }), 'ports', {
    ...PROPS,
    ...more,
  });
const specOf = (more?: Partial<PortRangePolicyProps>) => (made(more).policy.toJson() as { spec: Spec }).spec;
const expressions = (more?: Partial<PortRangePolicyProps>) =>
  specOf(more)
    .validations.map(({ expression }) => expression)
    .join('\n');

test('denies Services on other ports, and lets only the gateway reach the range', () => {
  const { policy, binding, networkPolicy } = made({ labels: { team: 'platform' } });
  expect(policy.toJson()).toMatchObject({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'preview-ports', labels: { team: 'platform' } },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'previews' } },
      },
    },
  });
  expect(expressions()).toContain('int(p.targetPort) >= 3000 && int(p.targetPort) <= 3999');
  expect(binding.toJson()).toMatchObject({
    kind: 'ValidatingAdmissionPolicyBinding',
    spec: { policyName: 'preview-ports', validationActions: ['Deny'] },
  });
  expect(networkPolicy.toJson()).toEqual({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'preview-ports', namespace: 'previews', labels: { team: 'platform' } },
    spec: {
      podSelector: { matchLabels: { 'porthole.sandbox.users.io/role': 'sandbox' } },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            {
              namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'traefik' } },
              podSelector: { matchLabels: { app: 'traefik' } },
            },
          ],
          ports: [{ protocol: 'TCP', port: 3000, endPort: 3999 }],
        },
      ],
    },
  });
});

test('allows previews to target the guest if the guest serves them', () => {
  expect(expressions({ upstream: 'guest' })).toContain('int(p.targetPort) == 2791 ||');
  expect(JSON.stringify(made({ upstream: 'guest' }).networkPolicy.toJson())).toContain('"port":2791');
});

test('validates previews of sandboxes, and every Service of the named service accounts', () => {
  expect(specOf().matchConditions.map(({ name }) => name)).toEqual(['a-preview', 'not-being-deleted']);
  const [condition] = specOf({ accounts: ['system:serviceaccount:a:b'] }).matchConditions;
  expect(condition?.expression).toMatch(
    /^\(request\.userInfo\.username in \['system:serviceaccount:a:b'\]\) \|\| /,
  );
  expect(expressions()).toContain("matches('^preview-[0-9a-f]{20}$')");
  expect(expressions()).toContain("selector[?'porthole.sandbox.users.io/sandbox'].orValue('') != ''");
});

test('requires the labels of previews of other pods, whatever their name', () => {
  const pods = { app: "hello's" };
  expect(expressions({ pods })).toContain(String.raw`selector[?'app'].orValue('') == 'hello\'s'`);
  expect(expressions({ pods })).not.toContain('preview-[0-9a-f]');
  expect(made({ pods }).networkPolicy.toJson()).toMatchObject({
    spec: { podSelector: { matchLabels: pods } },
  });
});

test.each<[string, Partial<PortRangePolicyProps>, string]>([
  ['port 0', { minPort: 0 }, 'PortRangePolicy.minPort must be an integer between 1 and 65535, got 0.'],
  ['no port', { minPort: 4000 }, 'PortRangePolicy.minPort (4000) must not be above maxPort (3999).'],
  ['every pod', { pods: {} }, 'PortRangePolicy.pods must have a label.'],
  [
    'every pod of the gateway’s namespace',
    { gatewayPods: { namespace: 'traefik', labels: {} } },
    'PortRangePolicy.gatewayPods.labels must have a label.',
  ],
])('rejects a range of %s', (_name, change, message) => {
  expect(() => made(change)).toThrow(message);
});
