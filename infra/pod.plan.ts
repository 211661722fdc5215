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

/**
 * The common part of the functions' and the CronJobs' pods: unprivileged, with only two empty
 * folders writable.
 */
export function podPlan(
  config: Pick<StackConfig, 'functions' | 'gateway' | 'environment'>,
  account: keyof typeof SERVICE_ACCOUNTS,
  component: Parameters<typeof componentLabels>[0] = account,
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
