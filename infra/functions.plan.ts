import { archiveEnvironmentPlan } from './archives.plan.ts';
import { componentLabels, STACK_LABELS } from './labels.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { CHANNEL_PORT, FUNCTIONS_NAME, functionsPort } from './environment.plan.ts';
import { podPlan } from './pod.plan.ts';

/** Longest that streams may take to end when their pod terminates. */
const DRAIN_SECONDS = 60;
/** Time for gateways to remove a terminating pod from their endpoints. */
const LEAVE_ROTATION_SECONDS = 5;

type FunctionsConfig = Pick<
  StackConfig,
  'apiHost' | 'namespaces' | 'functions' | 'gateway' | 'sandboxes' | 'archives' | 'environment'
>;

/** Annotation with a checksum of what the pods read at their start: a change rolls them. */
const CHECKSUM = 'porthole.sandbox.users.io/environment-checksum';

/** @param checksum of what the pods read at their start; without one a change of it rolls no pod */
export function deploymentPlan<Text = string>(config: FunctionsConfig, checksum?: Text) {
  const { functions, apiHost, sandboxes } = config;
  const pod = podPlan(config, 'functions');
  const matchLabels = componentLabels('functions');
  const env = archiveEnvironmentPlan(config);
  const health = {
    // DNS rebinding: any other Host is rejected, or a foreign page could reach the API under its
    // own host name.
    httpGet: { path: '/health', port: 'http', httpHeaders: [{ name: 'Host', value: apiHost }] },
    timeoutSeconds: 3,
  };
  return {
    metadata: metadata(config),
    spec: {
      replicas: functions.replicas,
      revisionHistoryLimit: 3,
      selector: { matchLabels },
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: {
          labels: pod.labels,
          ...(checksum !== undefined && { annotations: { [CHECKSUM]: checksum } }),
        },
        spec: {
          ...pod.spec,
          terminationGracePeriodSeconds: LEAVE_ROTATION_SECONDS + DRAIN_SECONDS,
          topologySpreadConstraints: functions.placement.topologySpreadConstraints ?? spread(matchLabels),
          containers: [
            {
              ...pod.container,
              name: 'functions',
              ...(env.length > 0 && { env }),
              ports: [
                { name: 'http', containerPort: functionsPort(config), protocol: 'TCP' },
                ...(sandboxes.channel
                  ? [{ name: 'channel', containerPort: CHANNEL_PORT, protocol: 'TCP' }]
                  : []),
              ],
              startupProbe: { ...health, periodSeconds: 1, failureThreshold: 60 },
              readinessProbe: { ...health, periodSeconds: 5, failureThreshold: 2 },
              livenessProbe: { ...health, periodSeconds: 10, failureThreshold: 6 },
              lifecycle: { preStop: { sleep: { seconds: LEAVE_ROTATION_SECONDS } } },
            },
          ],
        },
      },
    },
  };
}

function spread(matchLabels: Readonly<Record<string, string>>) {
  return ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    topologyKey,
    maxSkew: 1,
    // Prefers to spread, but a small cluster must still run all of them.
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels },
    matchLabelKeys: ['pod-template-hash'],
  }));
}

export function servicePlan(config: FunctionsConfig) {
  return {
    metadata: metadata(config),
    spec: {
      type: 'ClusterIP',
      selector: componentLabels('functions'),
      ports: [
        { name: 'http', port: 80, targetPort: 'http', protocol: 'TCP', appProtocol: 'http' },
        ...(config.sandboxes.channel
          ? [
              {
                name: 'channel',
                port: CHANNEL_PORT,
                targetPort: 'channel',
                protocol: 'TCP',
                appProtocol: 'http',
              },
            ]
          : []),
      ],
    },
  };
}

/** A node drain evicts one pod at a time. */
export function disruptionBudgetPlan(config: FunctionsConfig) {
  return {
    metadata: metadata(config),
    spec: { maxUnavailable: 1, selector: { matchLabels: componentLabels('functions') } },
  };
}

/** Undefined where there is nothing to scale between. */
export function autoscalerPlan(config: FunctionsConfig) {
  const { replicas, maxReplicas } = config.functions;
  if (maxReplicas === replicas) return undefined;
  return {
    metadata: metadata(config),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: FUNCTIONS_NAME },
      minReplicas: replicas,
      maxReplicas,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
        },
      ],
    },
  };
}

function metadata({ namespaces }: FunctionsConfig) {
  return { name: FUNCTIONS_NAME, namespace: namespaces.functions, labels: STACK_LABELS };
}
