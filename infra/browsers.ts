import * as kubernetes from '@pulumi/kubernetes';
import { placementFields } from '../constructs/pod-placement.ts';
import { authorityData, authorityFile, gatewayAuthority } from './authorities.plan.ts';
import { BROWSERS_NAME, BROWSERS_PORT } from './environment.plan.ts';
import { componentLabels, ownMetadata } from './labels.ts';
import {
  budgetPlan,
  CONTAINER_SECURITY,
  GRACE_SECONDS,
  POD_USER,
  replicasPlan,
  serviceOf,
  servingPlan,
  ROLL_OUT,
} from './pod.plan.ts';
import { StackConfigError } from './read-stack-config.ts';
import { canonicalQuantity } from './quantity.ts';
import { guestKeys } from './sandboxes.plan.ts';
import { component } from './settings-with-outputs.ts';
import type { StackConfig } from './stack-config-schema.ts';

/** The browsers in which the functions look at previews. */
export class Browsers extends component('Browsers', ({ name, config, resolve, parent }) => {
  const { browsers } = config;
  if (browsers === undefined)
    throw new StackConfigError(['browsers: is required for the component Browsers']);
  const own = { ...config, browsers };
  const { ConfigMap, Service, ServiceAccount } = kubernetes.core.v1;
  const account = new ServiceAccount(`${name}-account`, resolve(browsersAccountPlan(own)), {
    parent,
  });
  const authority = gatewayAuthority(config);
  const authorities =
    authority === undefined
      ? []
      : [
          new ConfigMap(
            `${name}-authority`,
            {
              metadata: ownMetadata(own, AUTHORITY_NAME),
              data: resolve(authorityData(authority)),
            },
            { parent },
          ),
        ];
  const { Deployment } = kubernetes.apps.v1;
  const deployment = new Deployment(name, resolve(browsersDeploymentPlan(own)), {
    parent,
    dependsOn: [account, ...authorities],
    ...ROLL_OUT,
  });
  const after = { parent, dependsOn: [deployment] };
  const { PodDisruptionBudget } = kubernetes.policy.v1;
  const budget = new PodDisruptionBudget(
    `${name}-budget`,
    resolve(budgetPlan(ownMetadata(own, BROWSERS_NAME), 'browsers')),
    after,
  );
  // A Service is ready once it has pods: it waits for them.
  const service = new Service(`${name}-service`, resolve(browsersServicePlan(own)), after);
  return { deployment: deployment.id, budget: budget.id, service: service.id };
}) {}

/** Of the ConfigMap with the authority of the gateway. */
const AUTHORITY_NAME = 'porthole-browsers-authority';

/** In MiB: the limit of a page, and what Chromium and the server need besides. */
const PAGE_MEBIBYTES = 512;
const BASE_MEBIBYTES = 1_024;

type BrowsersConfig = StackConfig & {
  readonly browsers: NonNullable<StackConfig['browsers']>;
};

/** An account without a role: its pods run hostile pages, and get no token. */
export function browsersAccountPlan(config: BrowsersConfig) {
  return { metadata: ownMetadata(config, BROWSERS_NAME), automountServiceAccountToken: false };
}

/**
 * Pods without a secret: they verify the functions' requests with public keys. Chromium's own
 * sandbox makes user namespaces, which RuntimeDefault forbids, so without another seccomp profile
 * the pod alone confines pages.
 */
export function browsersDeploymentPlan(config: BrowsersConfig) {
  const { browsers, functions } = config;
  const { topologySpreadConstraints: _, ...placement } = functions.placement;
  const labels = componentLabels('browsers');
  const probe = { httpGet: { path: '/health', port: 'visits' }, timeoutSeconds: 3 };
  const { seccompProfile } = browsers;
  const authority = gatewayAuthority(config);
  return {
    metadata: ownMetadata(config, BROWSERS_NAME),
    spec: replicasPlan('browsers', browsers.replicas, {
      metadata: { labels },
      spec: {
        serviceAccountName: BROWSERS_NAME,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        ...placementFields(placement),
        ...(functions.pullSecret !== undefined && {
          imagePullSecrets: [{ name: functions.pullSecret }],
        }),
        securityContext: {
          ...POD_USER,
          seccompProfile:
            seccompProfile === undefined
              ? { type: 'RuntimeDefault' }
              : { type: 'Localhost', localhostProfile: seccompProfile },
        },
        volumes: [
          { name: 'tmp', emptyDir: { sizeLimit: '2Gi' } },
          ...(authority === undefined ? [] : [{ name: 'authority', configMap: { name: AUTHORITY_NAME } }]),
        ],
        terminationGracePeriodSeconds: GRACE_SECONDS,
        containers: [
          {
            name: 'browsers',
            image: browsers.image,
            env: [
              { name: 'PORT', value: String(BROWSERS_PORT) },
              { name: 'PORTHOLE_BROWSERS_KEYS', value: guestKeys(config) ?? '' },
              { name: 'PORTHOLE_BROWSERS_PAGES', value: String(browsers.pages) },
              { name: 'PORTHOLE_BROWSERS_SANDBOX', value: String(seccompProfile !== undefined) },
              ...(authority === undefined
                ? []
                : [{ name: 'PORTHOLE_BROWSERS_AUTHORITIES', value: authorityFile(authority) }]),
              { name: 'LOG_LEVEL', value: functions.logLevel },
              // Chromium keeps settings and crash dumps in its home.
              { name: 'HOME', value: '/tmp' },
            ],
            ports: [{ name: 'visits', containerPort: BROWSERS_PORT, protocol: 'TCP' }],
            resources: {
              requests: { cpu: browsers.cpu, memory: browsers.memory },
              limits: {
                memory: canonicalQuantity(`${BASE_MEBIBYTES + browsers.pages * PAGE_MEBIBYTES}Mi`),
              },
            },
            securityContext: CONTAINER_SECURITY,
            volumeMounts: [
              { name: 'tmp', mountPath: '/tmp' },
              ...(authority === undefined
                ? []
                : [{ name: 'authority', mountPath: authority.folder, readOnly: true }]),
            ],
            ...servingPlan(probe),
          },
        ],
      },
    }),
  };
}

export function browsersServicePlan(config: BrowsersConfig) {
  return serviceOf(ownMetadata(config, BROWSERS_NAME), 'browsers', [
    { name: 'visits', port: BROWSERS_PORT, appProtocol: 'http' },
  ]);
}
