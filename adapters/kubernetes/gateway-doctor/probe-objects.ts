import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GatewayReference } from '#constructs/gateway-manifests.ts';
import { LABELS } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import { ENOUGH_BYTES } from './check-body.ts';

const PORT = 8080;
const SOURCE = readFileSync(join(import.meta.dirname, 'probe-server.cjs'), 'utf8');

export interface ProbePlan {
  /** Name of all objects, and the id in the answers. */
  readonly name: string;
  readonly namespace: string;
  readonly image: string;
  /** More of the pod's spec: pull secrets and placement. */
  readonly podSpec: object;
  readonly gateway: GatewayReference;
  readonly hostname: string;
  readonly publicPort: number;
  readonly serviceKind: 'headless' | 'clusterip';
  /** The cluster ends the pod then, also if this process cannot. */
  readonly deadlineSeconds: number;
}

/** Arguments of Node for the server of the pod. */
export function probeArguments(id: string, port: number): string[] {
  return ['--eval', SOURCE, '--', id, String(port), String(ENOUGH_BYTES)];
}

/** Complies with the Pod Security Standard `restricted`. */
export function probePod({ name, namespace, image, podSpec, deadlineSeconds }: ProbePlan) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: labelsOf(name) },
    spec: {
      ...podSpec,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'Never',
      activeDeadlineSeconds: deadlineSeconds,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'probe',
          image,
          command: ['node', ...probeArguments(name, PORT)],
          env: [{ name: 'NODE_OPTIONS', value: '' }],
          resources: {
            requests: { cpu: '50m', memory: '64Mi' },
            limits: { cpu: '1', memory: '256Mi' },
          },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    },
  };
}

/**
 * The Service and the route of a preview, under other names and labels: Porthole does not list
 * them. Both belong to the pod, so that the cluster removes them with it.
 */
export function probeRoute(
  plan: ProbePlan,
  podUid: string,
): { readonly service: object; readonly route: object } {
  const { name, namespace, gateway, hostname, publicPort, serviceKind } = plan;
  const now = new Date();
  const manifests = previewManifests({
    name,
    namespace,
    gateway,
    hostname,
    publicPort,
    serviceKind,
    targetPort: PORT,
    runId: name,
    owner: name,
    sandboxId: name,
    startedAt: now,
    expiresAt: now,
    maxUntil: now,
    selector: labelsOf(name),
  });
  const metadata = {
    name,
    namespace,
    labels: labelsOf(name),
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid: podUid }],
  };
  return {
    service: { ...manifests.service, metadata },
    route: { ...manifests.route({ uid: '', resourceVersion: '' }), metadata },
  };
}

function labelsOf(name: string) {
  return {
    [LABELS.managedBy]: 'porthole',
    [LABELS.component]: 'gateway-doctor',
    'app.kubernetes.io/instance': name,
  };
}
