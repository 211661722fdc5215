import { SANDBOX_POD_LABELS } from '../../constructs/names.ts';
import { STACK_LABELS } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';

type SandboxesConfig = Pick<StackConfig, 'namespaces' | 'sandboxes'>;

const API_VERSION = 'extensions.agents.x-k8s.io/v1beta1';

/** The sandbox image's own unprivileged user. */
const USER = 1000;

/**
 * SandboxTemplates, by name. `Unmanaged`: the policy that agent-sandbox would make for a template reopens egress beside
 * the stricter ones of this stack, because policies only ever add.
 */
export function templatesPlan({ namespaces, sandboxes }: SandboxesConfig) {
  return Object.entries(sandboxes.templates).map(([name, template]) => ({
    apiVersion: API_VERSION,
    kind: 'SandboxTemplate',
    metadata: { name, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: {
      networkPolicyManagement: 'Unmanaged',
      envVarsInjectionPolicy: 'Disallowed',
      volumeClaimTemplatesPolicy: 'Disallowed',
      podTemplate: {
        // A pod that waits in a warm pool is closed off as well as a claimed one.
        metadata: { labels: SANDBOX_POD_LABELS },
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(template.runtimeClassName && { runtimeClassName: template.runtimeClassName }),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'sandbox',
              image: template.image,
              resources: {
                requests: { cpu: '100m', memory: template.memory },
                limits: { cpu: template.cpu, memory: template.memory },
              },
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
              volumeMounts: [{ name: 'workspace', mountPath: '/workspace' }],
            },
          ],
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'workspace' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: template.storage } },
          },
        },
      ],
    },
  }));
}

/** SandboxWarmPools, by name: a claim reaches its template only through one. */
export function warmPoolsPlan({ namespaces, sandboxes }: SandboxesConfig) {
  return Object.entries(sandboxes.warmPools).map(([name, { template, replicas }]) => ({
    apiVersion: API_VERSION,
    kind: 'SandboxWarmPool',
    metadata: { name, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: { replicas, sandboxTemplateRef: { name: template } },
  }));
}
