import * as kubernetes from '@pulumi/kubernetes';
import { StackConfigError } from './read-stack-config.ts';
import { component } from './settings-with-outputs.ts';
import { BROKER_NAME, BROKER_PORT } from './environment.plan.ts';
import { ownMetadata } from './labels.ts';
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

/** The broker of the sandboxes' connections. */
export class Broker extends component('Broker', ({ name, config, resolve, parent }) => {
  const { broker } = config;
  if (broker === undefined) throw new StackConfigError(['broker: is required for the component Broker']);
  const own = { ...config, broker };
  const { Deployment } = kubernetes.apps.v1;
  const deployment = new Deployment(name, resolve(brokerDeploymentPlan(own)), { parent, ...ROLL_OUT });
  const after = { parent, dependsOn: [deployment] };
  const { PodDisruptionBudget } = kubernetes.policy.v1;
  const budget = new PodDisruptionBudget(
    `${name}-budget`,
    resolve(budgetPlan(ownMetadata(own, BROKER_NAME), 'broker')),
    after,
  );
  // A Service is ready once it has pods: it waits for them.
  const service = new kubernetes.core.v1.Service(`${name}-service`, resolve(brokerServicePlan(own)), after);
  return { deployment: deployment.id, budget: budget.id, service: service.id };
}) {}

/** What the function host's image runs as the broker. */
export const BROKER_ARGUMENTS = ['host/broker.ts'];

/** The only secrets of the functions that the broker gets: it serves no API. */
const SECRETS = ['DATABASE_URL', 'PORTHOLE_SIGNING_KEYS'];

type BrokerConfig = StackConfig & { readonly broker: NonNullable<StackConfig['broker']> };

/** The broker makes the connections of sandboxes; its pods have the functions' image. */
export function brokerDeploymentPlan(config: BrokerConfig) {
  const { broker, functions } = config;
  const pod = podPlan(config, 'broker');
  const { envFrom, ...container } = pod.container;
  const secret = functions.existingSecret ?? ENVIRONMENT_NAME;
  const probe = { tcpSocket: { port: 'broker' }, timeoutSeconds: 3 };
  return {
    metadata: ownMetadata(config, BROKER_NAME),
    spec: replicasPlan('broker', broker.replicas, {
      metadata: { labels: pod.labels },
      spec: {
        ...pod.spec,
        terminationGracePeriodSeconds: GRACE_SECONDS,
        containers: [
          {
            ...container,
            name: 'broker',
            args: BROKER_ARGUMENTS,
            envFrom: envFrom.filter((source) => 'configMapRef' in source),
            env: [
              // Without keys of callers the functions would refuse to listen on other addresses.
              { name: 'HOST', value: '127.0.0.1' },
              ...SECRETS.map((name) => ({
                name,
                valueFrom: { secretKeyRef: { name: secret, key: name } },
              })),
            ],
            ports: [{ name: 'broker', containerPort: BROKER_PORT, protocol: 'TCP' }],
            resources: {
              requests: { cpu: broker.cpu, memory: broker.memory },
              limits: { memory: broker.memory },
            },
            ...servingPlan(probe),
          },
        ],
      },
    }),
  };
}

export function brokerServicePlan(config: BrokerConfig) {
  return serviceOf(ownMetadata(config, BROKER_NAME), 'broker', [{ name: 'broker', port: BROKER_PORT }]);
}
