import { SERVICE_ACCOUNTS } from '../access/access.plan.ts';
import { componentLabels } from '../labels.ts';
import type { StackConfig } from '../stack-config/stack-config-schema.ts';
import { AUTHORITY_FOLDER, authorityPlan, DATA_FOLDER } from './environment.plan.ts';

/** ConfigMap and Secret that every pod of the stack takes its environment from. */
export const ENVIRONMENT_NAME = 'porthole';

/** ConfigMap of the authority behind the gateway's certificate, where the stack names one. */
export const AUTHORITY_NAME = 'porthole-gateway-authority';

/** An unprivileged user that no image needs to know. */
const USER = 10_001;

/** What the pods of the functions and of the reaper have in common: no privilege, and nothing to write to but two empty folders. */
export function podPlan(
  config: Pick<StackConfig, 'functions' | 'gateway'>,
  component: keyof typeof SERVICE_ACCOUNTS,
) {
  const { functions } = config;
  const secret = functions.existingSecret ?? ENVIRONMENT_NAME;
  const hasAuthority = authorityPlan(config) !== undefined;
  return {
    labels: componentLabels(component),
    spec: {
      serviceAccountName: SERVICE_ACCOUNTS[component],
      automountServiceAccountToken: true,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
        ...(hasAuthority ? [{ name: 'authority', configMap: { name: AUTHORITY_NAME } }] : []),
      ],
    },
    container: {
      image: functions.image,
      envFrom: [{ configMapRef: { name: ENVIRONMENT_NAME } }, { secretRef: { name: secret } }],
      resources: {
        requests: { cpu: functions.cpu, memory: functions.memory },
        limits: { memory: functions.memory },
      },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
      volumeMounts: [
        { name: 'data', mountPath: DATA_FOLDER },
        { name: 'tmp', mountPath: '/tmp' },
        ...(hasAuthority ? [{ name: 'authority', mountPath: AUTHORITY_FOLDER, readOnly: true }] : []),
      ],
    },
  };
}
