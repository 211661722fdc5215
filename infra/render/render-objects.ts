import * as pulumi from '@pulumi/pulumi';
import { Porthole } from '../porthole-stack.ts';
import type { StackConfig } from '../stack-config-schema.ts';

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** What others depend on comes first; other kinds follow in the order of their registration. */
const FIRST = [
  'Namespace',
  'ClusterRole',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'NetworkPolicy',
  'ResourceQuota',
  'ServiceAccount',
  'Role',
  'RoleBinding',
  'ConfigMap',
  'Secret',
];

/** How Pulumi's protocol marks a secret (`sdk/go/common/resource/properties.go`). */
const MARK = '4dabf18193072939515e22adb298388d';

/**
 * Every object that `pulumi up` would send to the cluster, from the same components, without
 * engine, state or cluster. Once in a process: Pulumi's runtime keeps its mocks.
 */
export async function renderObjects(config: StackConfig): Promise<KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource: ({ type, name, id, inputs }) => {
        const isRead = id !== undefined && id !== '';
        if (type.startsWith('kubernetes:') && !isRead) objects.push(plain(inputs) as KubernetesObject);
        return { id: name, state: inputs as object };
      },
    },
    'porthole',
    'render',
    false,
  );
  void new Porthole('porthole', config);
  await pulumi.runtime.disconnect();
  const rank = ({ kind }: KubernetesObject) => (FIRST.indexOf(kind) + FIRST.length + 1) % (FIRST.length + 1);
  return objects.toSorted((a, b) => rank(a) - rank(b));
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  if (MARK in value) return plain((value as { value?: unknown }).value);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}
