import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { createHash } from 'node:crypto';
import { ARCHIVES_SECRET, archiveEnvironmentPlan, archiveSecretPlan } from './archives.plan.ts';
import type { PortholeArgs } from './porthole-args.ts';
import { SettingsWithOutputs } from './settings-with-outputs.ts';
import { ownMetadata, SERVICE_ACCOUNTS } from './labels.ts';
import { authorities, authorityData } from './authorities.plan.ts';
import {
  CHANNEL_PORT,
  FUNCTIONS_NAME,
  environmentPlan,
  functionsPort,
  secretsPlan,
} from './environment.plan.ts';
import {
  budgetPlan,
  ENVIRONMENT_NAME,
  GRACE_SECONDS,
  podPlan,
  replicasPlan,
  serviceOf,
  servingPlan,
  ROLL_OUT,
} from './pod.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';

type Texts = Readonly<Record<string, string>>;

/** The stateless functions: their environment, their pods, and the Service in front of them. */
export class Functions extends pulumi.ComponentResource {
  readonly service: kubernetes.core.v1.Service;
  /** Resources that other pods with the same environment depend on. */
  readonly environment: readonly pulumi.Resource[];
  /** Names of the ConfigMaps and Secrets that the pods read, in the functions' namespace. */
  readonly configMaps: readonly string[];
  readonly secrets: readonly pulumi.Input<string>[];
  readonly serviceAccount = SERVICE_ACCOUNTS.functions;

  constructor(
    name: string,
    args: PortholeArgs | SettingsWithOutputs,
    opts?: pulumi.ComponentResourceOptions,
  ) {
    super('porthole:infra:Functions', name, {}, opts);
    const { config, resolve } = SettingsWithOutputs.of(args);
    const { ConfigMap, Secret } = kubernetes.core.v1;
    const metadata = (called: string) => ownMetadata(config, called);
    const data = resolve(environmentPlan(config));
    const trusted = resolve(authorities(config));
    const secretTexts = {
      [ENVIRONMENT_NAME]: resolve(secretsPlan(config)),
      [ARCHIVES_SECRET]: resolve(archiveSecretPlan(config)),
    };

    const configMaps = [
      new ConfigMap(`${name}-environment`, { metadata: metadata(ENVIRONMENT_NAME), data }, { parent: this }),
      ...trusted.map(
        (authority) =>
          new ConfigMap(
            `${name}-${authority.name.slice(`${ENVIRONMENT_NAME}-`.length)}`,
            { metadata: metadata(authority.name), data: authorityData(authority) },
            { parent: this },
          ),
      ),
    ];
    const secrets = Object.entries(secretTexts).flatMap(([called, texts]) =>
      texts === undefined
        ? []
        : [
            new Secret(
              `${name}-${called === ENVIRONMENT_NAME ? 'secrets' : 'archives'}`,
              {
                metadata: metadata(called),
                type: 'Opaque',
                data: pulumi.secret(pulumi.output(texts).apply(encoded)),
              },
              { parent: this },
            ),
          ],
    );
    this.environment = [...configMaps, ...secrets];
    this.configMaps = [ENVIRONMENT_NAME, ...trusted.map((authority) => authority.name)];
    const { existingSecret } = resolve(config.functions);
    this.secrets = [
      existingSecret ?? ENVIRONMENT_NAME,
      ...(config.archives === undefined ? [] : [resolve(config.archives).existingSecret ?? ARCHIVES_SECRET]),
    ];

    const checksum = pulumi.output([data, trusted, secretTexts]).apply(checksumOf);
    const deployment = new kubernetes.apps.v1.Deployment(
      name,
      resolve(deploymentPlan(config, pulumi.unsecret(checksum))),
      {
        parent: this,
        dependsOn: [...this.environment],
        // After the first roll-out the autoscaler, or a person with kubectl scale, decides.
        ignoreChanges: ['spec.replicas'],
        ...ROLL_OUT,
      },
    );
    const after = { parent: this, dependsOn: [deployment] };
    const { PodDisruptionBudget } = kubernetes.policy.v1;
    const { HorizontalPodAutoscaler } = kubernetes.autoscaling.v2;
    const scaling = resolve(autoscalerPlan(config));
    const guardians = [
      new PodDisruptionBudget(
        `${name}-budget`,
        resolve(budgetPlan(ownMetadata(config, FUNCTIONS_NAME), 'functions')),
        after,
      ),
      ...(scaling === undefined ? [] : [new HorizontalPodAutoscaler(`${name}-autoscaler`, scaling, after)]),
    ];
    // A Service is ready once it has pods: it waits for them.
    this.service = new kubernetes.core.v1.Service(`${name}-service`, resolve(servicePlan(config)), after);
    this.registerOutputs({
      deployment: deployment.id,
      service: this.service.id,
      guardians: guardians.map(({ id }) => id),
      serviceAccount: this.serviceAccount,
      configMaps: this.configMaps,
      secrets: this.secrets,
    });
  }
}

/**
 * A digest of all that pods read at their start. It shows nothing of the secrets: with them it
 * covers signing keys, which cannot be guessed.
 */
function checksumOf(read: unknown): string {
  return createHash('sha256').update(JSON.stringify(read)).digest('hex');
}

/** As the API server stores them: it drops `stringData`, which a repeated create conflicts with. */
function encoded(texts: Texts): Texts {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
  );
}

/** Annotation with a checksum of what the pods read at their start: a change rolls them. */
const CHECKSUM = 'porthole.sandbox.users.io/environment-checksum';

/** @param checksum of what the pods read at their start; without one a change of it rolls no pod */
export function deploymentPlan<Text = string>(config: StackConfig, checksum?: Text) {
  const { functions, apiHost, sandboxes } = config;
  const pod = podPlan(config, 'functions');
  const env = archiveEnvironmentPlan(config);
  const health = {
    // DNS rebinding: any other Host is rejected, or a foreign page could reach the API under its
    // own host name.
    httpGet: { path: '/health', port: 'http', httpHeaders: [{ name: 'Host', value: apiHost }] },
    timeoutSeconds: 3,
  };
  return {
    metadata: ownMetadata(config, FUNCTIONS_NAME),
    spec: replicasPlan('functions', functions.replicas, {
      metadata: {
        labels: pod.labels,
        ...(checksum !== undefined && { annotations: { [CHECKSUM]: checksum } }),
      },
      spec: {
        ...pod.spec,
        terminationGracePeriodSeconds: GRACE_SECONDS,
        topologySpreadConstraints: functions.placement.topologySpreadConstraints ?? spread(pod.labels),
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
            ...servingPlan(health),
          },
        ],
      },
    }),
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

export function servicePlan(config: StackConfig) {
  return serviceOf(ownMetadata(config, FUNCTIONS_NAME), 'functions', [
    { name: 'http', port: 80, appProtocol: 'http' },
    ...(config.sandboxes.channel ? [{ name: 'channel', port: CHANNEL_PORT, appProtocol: 'http' }] : []),
  ]);
}

/** Undefined where there is nothing to scale between. */
export function autoscalerPlan(config: StackConfig) {
  const { replicas, maxReplicas } = config.functions;
  if (maxReplicas === replicas) return undefined;
  return {
    metadata: ownMetadata(config, FUNCTIONS_NAME),
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
