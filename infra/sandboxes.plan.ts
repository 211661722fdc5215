import { createGuestKeys, deriveKeySet, JwksSchema } from '../adapters/auth/key-set.ts';
import { LABELS, SANDBOX_POD_LABELS } from '../constructs/names.ts';
import { placementFields } from '../constructs/pod-placement.ts';
import { GUEST_STATE, guestInstaller, guestPod } from '../guest/protocol/guest-pod.ts';
import { defaultWarmPool } from './sandbox-provider.plan.ts';
import { STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';

type SandboxesConfig = Pick<StackConfig, 'namespaces' | 'sandboxes' | 'signingKeys'>;

type Template = SandboxesConfig['sandboxes']['templates'][string];

const API_VERSION = 'extensions.agents.x-k8s.io/v1beta1';

/** The user that all sandboxes run as. */
const USER = 1_000;
const HOME = '/home/sandbox';
/** Size limit of `/tmp` and of the home folder, each. */
const SCRATCH = '2Gi';

/** Public keys of the functions, for the guests of templates; undefined if not configured. */
export function guestKeys({
  sandboxes,
  signingKeys,
}: Pick<StackConfig, 'sandboxes' | 'signingKeys'>): string | undefined {
  if (sandboxes.guestKeys !== undefined || signingKeys === undefined) return sandboxes.guestKeys;
  return deriveGuestKeys(signingKeys);
}

/** @param signingKeys a JWKS */
export function deriveGuestKeys(signingKeys: string): string {
  return createGuestKeys(deriveKeySet(JwksSchema.parse(JSON.parse(signingKeys)))).publicKeys;
}

/** What a sandbox of a template runs. */
function guestPlan(config: SandboxesConfig) {
  const { command, env } = guestPod(guestKeys(config) ?? '', { HOME, WORKSPACE: '/workspace' });
  // Empty while it waits in a warm pool; set when the pod of a claimed one restarts.
  const fieldPath = `metadata.labels['${LABELS.sandbox}']`;
  return { command, env: [...env, { name: 'SANDBOX_ID', valueFrom: { fieldRef: { fieldPath } } }] };
}

/**
 * SandboxTemplates, by name. `Unmanaged`: network policies are additive, so the one that
 * agent-sandbox would create for a template would reopen egress that this stack denies.
 */
export function templatesPlan(config: SandboxesConfig) {
  const { namespaces, sandboxes } = config;
  const { command, env } = guestPlan(config);
  const installer = guestInstaller();
  const scratch = { tmp: '/tmp', home: HOME, guest: GUEST_STATE };
  const volumes = Object.keys(scratch).map((name) => ({ name, emptyDir: { sizeLimit: SCRATCH } }));
  return Object.entries(sandboxes.templates).map(([name, template]) => ({
    apiVersion: API_VERSION,
    kind: 'SandboxTemplate',
    metadata: { name, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: {
      networkPolicyManagement: 'Unmanaged',
      envVarsInjectionPolicy: 'Disallowed',
      volumeClaimTemplatesPolicy: 'Disallowed',
      podTemplate: {
        metadata: podMetadata(podOptions(template, sandboxes)),
        spec: {
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          // The pause process reaps the orphaned processes of commands.
          shareProcessNamespace: true,
          terminationGracePeriodSeconds: 2,
          ...(sandboxes.pullSecret && { imagePullSecrets: [{ name: sandboxes.pullSecret }] }),
          ...placementFields({
            ...podOptions(template, sandboxes),
            priorityClassName: template.priorityClassName ?? sandboxes.priorityClassName,
            runtimeClassName: template.runtimeClassName ?? sandboxes.runtimeClassName,
          }),
          ...(!sandboxes.hostUsers && { hostUsers: false }),
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
            fsGroupChangePolicy: 'OnRootMismatch',
            seccompProfile: { type: 'RuntimeDefault' },
          },
          ...(sandboxes.guestImage && {
            initContainers: [
              {
                ...containerPlan(template),
                name: installer.name,
                image: sandboxes.guestImage,
                command: installer.command,
                volumeMounts: [{ name: installer.volume, mountPath: installer.target }],
              },
            ],
          }),
          containers: [
            {
              ...containerPlan(template),
              name: 'sandbox',
              image: template.image,
              command,
              env: [{ name: 'HOME', value: HOME }, { name: 'WORKSPACE', value: '/workspace' }, ...env],
              volumeMounts: [
                { name: 'workspace', mountPath: '/workspace' },
                ...Object.entries(scratch).map(([name, mountPath]) => ({ name, mountPath })),
                ...(sandboxes.guestImage
                  ? [{ name: installer.volume, mountPath: installer.mountPath, readOnly: true }]
                  : []),
              ],
            },
          ],
          volumes: sandboxes.guestImage
            ? [...volumes, { name: installer.volume, emptyDir: { sizeLimit: `${installer.mebibytes}Mi` } }]
            : volumes,
        },
      },
      volumeClaimTemplates: [
        {
          metadata: { name: 'workspace' },
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: template.storage } },
            ...(sandboxes.storageClass && { storageClassName: sandboxes.storageClass }),
          },
        },
      ],
    },
  }));
}

function containerPlan({ cpu, memory }: Template) {
  return {
    // A runtime cannot start in a folder that its user may not enter.
    workingDir: '/',
    resources: { requests: { cpu: '100m', memory }, limits: { cpu, memory } },
    securityContext: {
      runAsNonRoot: true,
      privileged: false,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
}

function podOptions(template: Template, sandboxes: SandboxesConfig['sandboxes']) {
  return template.pod ?? sandboxes.pod;
}

function podMetadata({ labels, annotations }: ReturnType<typeof podOptions>) {
  return {
    // Network policies also apply to pods that wait in a warm pool.
    labels: { ...labels, ...SANDBOX_POD_LABELS },
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

/** Whether the functions scale the pool to `warmPoolTarget`. */
export function isScaledByFunctions({ sandboxes }: Pick<StackConfig, 'sandboxes'>, pool: string): boolean {
  return sandboxes.warmPoolTarget > 0 && pool === defaultWarmPool(sandboxes);
}

/** SandboxWarmPools, by name: a claim reaches its template only through one. */
export function warmPoolsPlan({ namespaces, sandboxes }: Pick<SandboxesConfig, 'namespaces' | 'sandboxes'>) {
  return Object.entries(sandboxes.warmPools).map(([name, { template, replicas }]) => ({
    apiVersion: API_VERSION,
    kind: 'SandboxWarmPool',
    metadata: { name, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: {
      replicas: isScaledByFunctions({ sandboxes }, name) ? sandboxes.warmPoolTarget : replicas,
      sandboxTemplateRef: { name: template },
    },
  }));
}
