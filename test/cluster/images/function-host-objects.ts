import { accessPlan } from '../../../infra/access.ts';
import { environmentPlan, secretsPlan } from '../../../infra/environment.plan.ts';
import { deploymentPlan } from '../../../infra/functions.ts';
import { STACK_LABELS } from '../../../infra/labels.ts';
import { ENVIRONMENT_NAME } from '../../../infra/pod.plan.ts';
import { reaperPlan } from '../../../infra/scheduled-jobs.ts';
import { callsPlan, closedPlan, toGuestPlan } from '../../../infra/network.ts';
import { sandboxQuotaPlan } from '../../../infra/quota.ts';
import { readStackConfig } from '../../../infra/read-stack-config.ts';
import { stackFile, values } from '../../infra/support/stack-files.ts';
import type { BuiltImages } from './built-images.ts';

/** The host name that requests must send. */
export const API_HOST = 'api.images.test';

/** The key of an administrator. */
export const ADMIN_KEY = 'key-of-the-admin-0123';

const RBAC = 'rbac.authorization.k8s.io/v1';

/**
 * The objects that infra/ would create for the functions and their reaper, all in one namespace: a
 * pod of each, the objects that pods need, and the quota and the network policies of sandboxes.
 */
export function functionHostObjects(namespace: string, { functionHost, sandbox }: BuiltImages) {
  const { databaseUrl: _, ...config } = readStackConfig(
    values(
      stackFile({
        'porthole:apiHost': API_HOST,
        'porthole:namespaces': { previews: namespace, gateway: namespace, functions: namespace },
        'porthole:functions': { image: functionHost, replicas: 1, maxReplicas: 1, cpu: '100m' },
        'porthole:sandboxes': { image: sandbox },
        'porthole:apiKeys': { [ADMIN_KEY]: { user: 'root', org: 'acme', admin: true } },
      }),
    ),
    () => true,
  );
  const metadata = { name: ENVIRONMENT_NAME };
  const accounts = accessPlan(config).flatMap(({ serviceAccount, role, binding }) => [
    { apiVersion: 'v1', kind: 'ServiceAccount', ...serviceAccount },
    { apiVersion: RBAC, kind: 'Role', ...role },
    { apiVersion: RBAC, kind: 'RoleBinding', ...binding },
  ]);
  const pod = (name: string, spec: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: STACK_LABELS },
    // It shows how the pod ends.
    spec: { ...spec, restartPolicy: 'Never' },
  });
  const list = (...items: object[]) => ({ apiVersion: 'v1', kind: 'List', items });
  return {
    quota: { apiVersion: 'v1', kind: 'ResourceQuota', ...sandboxQuotaPlan(config) },
    policies: list(
      ...[closedPlan(config), toGuestPlan(config), callsPlan(config)].map((plan) => ({
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        ...plan,
      })),
    ),
    objects: list(
      ...accounts,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: environmentPlan(config) },
      { apiVersion: 'v1', kind: 'Secret', metadata, stringData: secretsPlan(config) },
      pod('functions', deploymentPlan(config).spec.template.spec),
      pod('reaper', reaperPlan(config).spec.jobTemplate.spec.template.spec),
    ),
  };
}
