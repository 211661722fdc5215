import * as kubernetes from '@pulumi/kubernetes';
import { component } from './settings-with-outputs.ts';
import { NETWORK_LABELS, SANDBOX_POD_LABELS } from '../constructs/names.ts';
import { networkRangeSpec, podsOf } from '../constructs/port-range-manifests.ts';
import { GUEST_PORT } from '../protocol/guest/guest-pod.ts';
import { GUEST_PREVIEW_PORT } from '../protocol/guest/previews-protocol.ts';
import { BROKER_PORT, BROWSERS_PORT, CHANNEL_PORT, functionsPort } from './environment.plan.ts';
import { componentLabels, ownMetadata, STACK_LABELS } from './labels.ts';
import { portRange } from './preview-services.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { exceptionsOf } from '../base/address-range.ts';

/** Network policies of sandboxes and of the functions. */
export class Network extends component('Network', ({ name, config, resolve, parent }) => {
  const { NetworkPolicy } = kubernetes.networking.v1;
  const closed = new NetworkPolicy(`${name}-closed`, resolve(closedPlan(config)), { parent });
  // The default-deny policies come first.
  const opening = { parent, dependsOn: [closed] };
  const optional = {
    internet: resolve(internetPlan(config)),
    egress: resolve(egressPlan(config)),
    channel: resolve(channelPlan(config)),
    'to-broker': resolve(toBrokerPlan(config)),
    broker: resolve(brokerPlan(config)),
    browsers: resolve(browsersPlan(config)),
    calls: resolve(callsPlan(config)),
  };
  const opened = [
    new NetworkPolicy(`${name}-functions`, resolve(functionsPlan(config)), { parent }),
    new NetworkPolicy(`${name}-from-gateway`, resolve(fromGatewayPlan(config)), opening),
    new NetworkPolicy(`${name}-guests`, resolve(toGuestPlan(config)), opening),
    ...Object.entries(optional).flatMap(([called, plan]) =>
      plan === undefined ? [] : [new NetworkPolicy(`${name}-${called}`, plan, opening)],
    ),
  ];
  return { policies: [closed, ...opened].map(({ id }) => id) };
}) {}

const COMPONENT = 'app.kubernetes.io/component';

const TO_DNS = {
  to: [podsOf('kube-system', { 'k8s-app': 'kube-dns' })],
  ports: [{ protocol: 'UDP', port: 53 }, tcp(53)],
};

/** Default deny, in and out of sandboxes: network policies are additive, so others can allow. */
export function closedPlan(config: StackConfig) {
  return policy(config, 'porthole-sandboxes-closed', { policyTypes: ['Ingress', 'Egress'] });
}

/**
 * The gateway's own pods reach the ports that previews may expose, the same range that the API
 * checks, and the guest if it serves previews.
 */
export function fromGatewayPlan(config: StackConfig) {
  const { podNamespace, podLabels } = config.gateway;
  return policy(
    config,
    'porthole-previews-from-gateway',
    networkRangeSpec(portRange(config), { namespace: podNamespace, labels: podLabels }),
  );
}

/** The stack's own pods call the guests. */
export function toGuestPlan(config: StackConfig) {
  return policy(config, 'porthole-guests-from-functions', {
    policyTypes: ['Ingress'],
    ingress: [{ from: [podsOf(config.namespaces.functions, STACK_LABELS)], ports: [tcp(GUEST_PORT)] }],
  });
}

/**
 * IPv4-mapped IPv6 addresses. API servers parse the range as IPv4, and reject it in an IPv6 range.
 * No packet has such an address: kernels send IPv4 instead.
 */
const MAPPED = '::ffff:0:0/96';

/** A range without the addresses that sandboxes may never reach. */
function block(cidr: string) {
  const except = exceptionsOf(cidr).filter((range) => range !== MAPPED);
  // The API server does not store an empty list.
  return { ipBlock: { cidr, ...(except.length > 0 && { except }) } };
}

/** The internet, without metadata and private addresses. */
const INTERNET = ['0.0.0.0/0', '::/0'].map(block);

/**
 * Egress of sandboxes with a network: the internet, and the cluster's DNS. Undefined with a broker,
 * which is then their only way out.
 */
export function internetPlan(config: StackConfig) {
  if (config.broker !== undefined) return undefined;
  const { spec, ...rest } = policy(config, 'porthole-sandboxes-internet', {
    policyTypes: ['Egress'],
    egress: [{ to: INTERNET }, TO_DNS],
  });
  const podSelector = { matchLabels: { ...SANDBOX_POD_LABELS, ...NETWORK_LABELS } };
  return { ...rest, spec: { ...spec, podSelector } };
}

/** Egress of all sandboxes, and the cluster's DNS; undefined if none is configured. */
export function egressPlan(config: StackConfig) {
  const { egress } = config.sandboxes;
  if (egress.length === 0) return undefined;
  return policy(config, 'porthole-sandboxes-egress', {
    policyTypes: ['Egress'],
    egress: [{ to: egress.map(block) }, TO_DNS],
  });
}

/** Sandboxes call the broker; undefined without one. */
export function toBrokerPlan(config: StackConfig) {
  if (config.broker === undefined) return undefined;
  const broker = podsOf(config.namespaces.functions, componentLabels('broker'));
  return policy(config, 'porthole-sandboxes-broker', {
    policyTypes: ['Egress'],
    egress: [{ to: [broker], ports: [tcp(BROKER_PORT)] }],
  });
}

/**
 * The broker's pods: sandboxes reach their port, and they reach the internet, the cluster's DNS,
 * the guests, which say what command asks for a host, and the ranges of the database and the API
 * server. Undefined without a broker.
 */
export function brokerPlan({ namespaces, broker }: StackConfig) {
  if (broker === undefined) return undefined;
  const sandboxes = podsOf(namespaces.previews, SANDBOX_POD_LABELS);
  return {
    metadata: ownMetadata({ namespaces }, 'porthole-broker'),
    spec: {
      podSelector: { matchLabels: componentLabels('broker') },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [sandboxes], ports: [tcp(BROKER_PORT)] }],
      egress: [
        { to: [...INTERNET, ...broker.egress.map(block)] },
        TO_DNS,
        { to: [sandboxes], ports: [tcp(GUEST_PORT)] },
      ],
    },
  };
}

/**
 * The browsers' pods: only the functions reach their port, and they reach only the gateway's
 * listeners and the cluster's DNS. Undefined without browsers.
 */
export function browsersPlan({ namespaces, gateway, browsers }: StackConfig) {
  if (browsers === undefined) return undefined;
  const functions = podsOf(namespaces.functions, componentLabels('functions'));
  return {
    metadata: ownMetadata({ namespaces }, 'porthole-browsers'),
    spec: {
      podSelector: { matchLabels: componentLabels('browsers') },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ from: [functions], ports: [tcp(BROWSERS_PORT)] }],
      egress: [
        { to: [podsOf(gateway.podNamespace, gateway.podLabels)], ports: listenerPorts(gateway).map(tcp) },
        ...(browsers.egress.length === 0
          ? []
          : [{ to: browsers.egress.map(block), ports: [tcp(gateway.port)] }]),
        TO_DNS,
      ],
    },
  };
}

/** The one port of the functions' own pods that sandboxes call; undefined without a channel. */
export function channelPlan(config: StackConfig) {
  if (!config.sandboxes.channel) return undefined;
  const functions = podsOf(config.namespaces.functions, componentLabels('functions'));
  return policy(config, 'porthole-sandboxes-channel', {
    policyTypes: ['Egress'],
    egress: [{ to: [functions], ports: [tcp(CHANNEL_PORT)] }],
  });
}

/** Envoy Gateway adds this to ports below 1024: its pods cannot listen there. */
const UNPRIVILEGED = 10_000;

/** Policies apply to the ports of pods, behind the port of their Service. */
function listenerPorts({ port, listenerPort = port }: StackConfig['gateway']): number[] {
  return listenerPort < 1_024 ? [listenerPort, listenerPort + UNPRIVILEGED] : [listenerPort];
}

/** Components of pods that run the functions' image with its rights. */
const CALLERS = ['functions', 'reaper', 'lifecycle', 'snapshots-clean', 'warm-pool'] as const;

/**
 * What the functions and the scheduled jobs call. The addresses of the database, the identity
 * provider and the API server are not known here, and several network plugins match an API server
 * with no address range: their ports are open to any address, which excludes metadata services.
 * Nothing calls the jobs; the next policy opens the functions.
 */
export function callsPlan(config: StackConfig) {
  const { namespaces, gateway, functions } = config;
  const { [COMPONENT]: _, ...labels } = componentLabels('functions');
  const own = (component: 'browsers' | 'broker') => podsOf(namespaces.functions, componentLabels(component));
  return {
    metadata: ownMetadata(config, 'porthole-calls'),
    spec: {
      podSelector: {
        matchLabels: labels,
        matchExpressions: [{ key: COMPONENT, operator: 'In', values: [...CALLERS] }],
      },
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        // Anywhere: caches of DNS may listen on the node.
        { ports: TO_DNS.ports },
        // The sandboxes' policies refuse the second, and the doctor sees whether they do.
        {
          to: [podsOf(namespaces.previews, SANDBOX_POD_LABELS)],
          ports: [tcp(GUEST_PORT), tcp(GUEST_PREVIEW_PORT)],
        },
        { to: [podsOf(gateway.podNamespace, gateway.podLabels)], ports: listenerPorts(gateway).map(tcp) },
        ...(config.browsers === undefined ? [] : [{ to: [own('browsers')], ports: [tcp(BROWSERS_PORT)] }]),
        ...(config.broker === undefined ? [] : [{ to: [own('broker')], ports: [tcp(BROKER_PORT)] }]),
        { ports: functions.egressPorts.map(tcp) },
      ],
    },
  };
}

/** Ingress of the functions: the gateway reaches the API, sandboxes the channel. */
export function functionsPlan(config: StackConfig) {
  const { namespaces, gateway, functions, sandboxes } = config;
  return {
    metadata: ownMetadata(config, 'porthole-functions'),
    spec: {
      podSelector: { matchLabels: componentLabels('functions') },
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [
            podsOf(gateway.podNamespace, gateway.podLabels),
            ...functions.allowFrom.map(({ namespace, podLabels }) => podsOf(namespace, podLabels)),
          ],
          ports: [tcp(functionsPort(config))],
        },
        ...(sandboxes.channel
          ? [{ from: [podsOf(namespaces.previews, SANDBOX_POD_LABELS)], ports: [tcp(CHANNEL_PORT)] }]
          : []),
      ],
    },
  };
}

function policy<Rules extends object>({ namespaces }: StackConfig, name: string, rules: Rules) {
  return {
    metadata: { name, namespace: namespaces.previews, labels: STACK_LABELS },
    spec: { podSelector: { matchLabels: SANDBOX_POD_LABELS }, ...rules },
  };
}

function tcp(port: number) {
  return { protocol: 'TCP', port };
}
