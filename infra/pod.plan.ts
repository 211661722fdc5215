import { placementFields } from '../constructs/pod-placement.ts';
import { componentLabels, SERVICE_ACCOUNTS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { authorities } from './authorities.plan.ts';
import { dataFolder } from './environment.plan.ts';

/** ConfigMap and Secret that every pod of the stack takes its environment from. */
export const ENVIRONMENT_NAME = 'porthole';

/** An unprivileged user that need not exist in the image. */
const USER = 10_001;
export const POD_USER = { runAsNonRoot: true, runAsUser: USER, runAsGroup: USER, fsGroup: USER } as const;

/** No rights, and a root that cannot be written to. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

type Component = Parameters<typeof componentLabels>[0];

/** Longest that requests, connections and visits may take to end when their pod terminates. */
const DRAIN_SECONDS = 60;
/** Time for gateways and Services to remove a terminating pod from their endpoints. */
const LEAVE_ROTATION_SECONDS = 5;

export const GRACE_SECONDS = LEAVE_ROTATION_SECONDS + DRAIN_SECONDS;

/**
 * How long an update waits for the pods of a Deployment. Pulumi's own limit of ten minutes is long
 * for an image that cannot be pulled; a new node with a large image takes three.
 */
export const ROLL_OUT = { customTimeouts: { create: '5m', update: '5m' } };

/** The probes of a container that serves, and its time to leave the rotation. */
export function servingPlan<Probe extends object>(probe: Probe) {
  return {
    startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 60 },
    readinessProbe: { ...probe, periodSeconds: 5, failureThreshold: 2 },
    livenessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    lifecycle: { preStop: { sleep: { seconds: LEAVE_ROTATION_SECONDS } } },
  };
}

/** The replicas of a component: while they roll, there are never fewer. */
export function replicasPlan<Template extends object>(
  component: Component,
  replicas: number,
  template: Template,
) {
  return {
    replicas,
    revisionHistoryLimit: 3,
    selector: { matchLabels: componentLabels(component) },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template,
  };
}

/** A Service of a component's pods; each of its ports has the name of the container's port. */
export function serviceOf<Metadata extends object>(
  metadata: Metadata,
  component: Component,
  ports: readonly { readonly name: string; readonly port: number; readonly appProtocol?: string }[],
) {
  return {
    metadata,
    spec: {
      type: 'ClusterIP',
      selector: componentLabels(component),
      ports: ports.map((port) => ({ ...port, targetPort: port.name, protocol: 'TCP' })),
    },
  };
}

/** A node drain evicts one pod of a component at a time. */
export function budgetPlan<Metadata extends object>(metadata: Metadata, component: Component) {
  return { metadata, spec: { maxUnavailable: 1, selector: { matchLabels: componentLabels(component) } } };
}

/**
 * The common part of the functions' and the CronJobs' pods: unprivileged, with only two empty
 * folders writable.
 */
export function podPlan(
  config: StackConfig,
  account: keyof typeof SERVICE_ACCOUNTS,
  component: Component = account,
) {
  const { functions } = config;
  // A job has one pod: spread is for the replicas of the functions.
  const { topologySpreadConstraints: _, ...placement } = functions.placement;
  const secret = functions.existingSecret ?? ENVIRONMENT_NAME;
  const trusted = authorities(config);
  return {
    labels: componentLabels(component),
    spec: {
      serviceAccountName: SERVICE_ACCOUNTS[account],
      automountServiceAccountToken: true,
      enableServiceLinks: false,
      ...placementFields(placement),
      ...(functions.pullSecret !== undefined && { imagePullSecrets: [{ name: functions.pullSecret }] }),
      securityContext: { ...POD_USER, seccompProfile: { type: 'RuntimeDefault' } },
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
        ...trusted.map(({ name }) => ({ name, configMap: { name } })),
      ],
    },
    container: {
      image: functions.image,
      envFrom: [{ configMapRef: { name: ENVIRONMENT_NAME } }, { secretRef: { name: secret } }],
      resources: {
        requests: { cpu: functions.cpu, memory: functions.memory },
        limits: { memory: functions.memory },
      },
      securityContext: CONTAINER_SECURITY,
      volumeMounts: [
        { name: 'data', mountPath: dataFolder(config) },
        { name: 'tmp', mountPath: '/tmp' },
        ...trusted.map(({ name, folder }) => ({ name, mountPath: folder, readOnly: true })),
      ],
    },
  };
}
