/** The table of docs/reference/network-policies.md, measured by connections between pods. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { suite } from '../support/suite.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { ownKubeconfig } from './fixture/own-cluster.ts';
import { type Cell, documentedMatrix, type Matrix } from './network-matrix/documented-matrix.ts';
import {
  GATEWAY_LABELS,
  matrixPods,
  NODE_STAND_INS,
  nodeStandIns,
  podObject,
} from './network-matrix/matrix-pods.ts';
import { renderedPolicies } from './network-matrix/rendered-policies.ts';

const MINUTE = 60_000;
const prefix = `matrix-${process.pid}`;
const names = {
  previews: `${prefix}-previews`,
  gateway: `${prefix}-gateway`,
  functions: `${prefix}-functions`,
  direct: `${prefix}-direct`,
};
/** A pod that the policies take for the DNS of the cluster. */
const dns = `${prefix}-dns`;
const pods = matrixPods(names, dns);

/** What the page calls each source. */
const SOURCES: Readonly<Record<string, string>> = {
  sandbox: 'sandbox',
  'sandbox with `network: true`, no broker': 'direct',
  functions: 'functions',
  jobs: 'jobs',
  broker: 'broker',
  browsers: 'browsers',
};

type Target = readonly [address: string, port: number];
type Measured = 'open' | 'closed';

const standInsMissing =
  ownKubeconfig() === undefined
    ? undefined
    : 'addresses of the node stand in for the internet: unset KUBECONFIG';

suite('network policies', missing() ?? standInsMissing, () => {
  let fixture: Cluster;
  let targets: Readonly<Record<string, readonly Target[]>>;
  let brokerEgress: readonly string[];
  const documented = documentedMatrix();

  /** A list of objects, all of which have a namespace. */
  const apply = (items: readonly object[]) =>
    fixture.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));

  beforeAll(async () => {
    fixture = await cluster();
    const namespaces = Object.values(names).map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    }));
    await apply([...namespaces, nodeStandIns(names.gateway), ...pods.map(podObject)]);
    await Promise.all(
      pods.map(({ name, namespace }) =>
        fixture.kubectl([
          'wait',
          `pod/${name}`,
          `--namespace=${namespace}`,
          '--for=condition=Ready',
          '--timeout=90s',
        ]),
      ),
    );
    targets = await targetsOf(fixture);
    brokerEgress = [`${NODE_STAND_INS.database}/32`, `${new URL(fixture.apiServer).hostname}/32`];
  }, 2 * MINUTE);
  afterAll(async () => {
    await fixture.kubectl([
      'delete',
      'pod',
      dns,
      '--namespace=kube-system',
      '--ignore-not-found',
      '--wait=false',
    ]);
    await fixture.kubectl([
      'delete',
      'namespace',
      ...Object.values(names),
      '--ignore-not-found',
      '--wait=false',
    ]);
  }, MINUTE);

  /** The whole matrix, from one command in each source. */
  const measure = async (): Promise<Matrix<Measured>> => {
    const columns = await Promise.all(
      Object.entries(SOURCES).map(async ([source, pod]) => [source, await measureFrom(pod)] as const),
    );
    const row = (destination: string) =>
      Object.fromEntries(columns.map(([source, column]) => [source, column.get(destination) ?? 'closed']));
    return Object.fromEntries(Object.keys(targets).map((destination) => [destination, row(destination)]));
  };

  /** A destination is open if a connection to one of its addresses opens. */
  const measureFrom = async (name: string): Promise<Map<string, Measured>> => {
    const namespace = pods.find((each) => each.name === name)?.namespace ?? '';
    const tries = Object.values(targets).flatMap((each, row) =>
      each.map(
        ([address, port]) => `(nc -w 3 ${address} ${port} < /dev/null > /dev/null 2>&1 && echo ${row}) &`,
      ),
    );
    const script = [...tries, 'wait'].join('\n');
    const output = await fixture.kubectl([
      'exec',
      name,
      `--namespace=${namespace}`,
      '--',
      'sh',
      '-c',
      script,
    ]);
    const open = new Set(output.split('\n').filter((line) => line !== ''));
    return new Map(Object.keys(targets).map((row, at) => [row, open.has(String(at)) ? 'open' : 'closed']));
  };

  /** Measures until the matrix is this one: a policy takes effect without an event. */
  const becomes = async (wanted: Matrix<Measured>): Promise<void> => {
    const text = JSON.stringify(wanted);
    for (const deadline = Date.now() + 45_000; ; await pause(300)) {
      const measured = await measure();
      if (JSON.stringify(measured) === text || Date.now() > deadline) return expect(measured).toEqual(wanted);
    }
  };

  /** The table of the page, with its conditional cells. */
  const table = (
    egress: Measured,
    of: (cell: Cell) => Measured = (cell) => (cell === '`egress`' ? egress : cell),
  ) =>
    Object.fromEntries(
      Object.entries(documented).map(([destination, cells]) => [
        destination,
        Object.fromEntries(Object.entries(cells).map(([source, cell]) => [source, of(cell)])),
      ]),
    );

  const policies = async (egress: readonly string[]) => {
    const gateway = { className: 'traefik', podNamespace: names.gateway, podLabels: GATEWAY_LABELS };
    const { direct, ...namespaces } = names;
    const [own, second] = await Promise.all([
      renderedPolicies({
        'porthole:namespaces': namespaces,
        'porthole:gateway': gateway,
        'porthole:broker': { egress },
        'porthole:browsers': { image: 'browsers@sha256:0123' },
      }),
      renderedPolicies({
        'porthole:namespaces': { ...namespaces, previews: direct },
        'porthole:gateway': gateway,
        'porthole:sandboxes': { image: 'sandbox@sha256:0123', channel: false },
      }),
    ]);
    return [...own, ...second.filter(({ metadata }) => metadata.namespace === direct)];
  };

  test('name what the test measures', () => {
    expect(Object.keys(documented)).toEqual(Object.keys(targets));
    for (const cells of Object.values(documented)) expect(Object.keys(cells)).toEqual(Object.keys(SOURCES));
  });

  test('close nothing before they are there', () => becomes(table('open', () => 'open')), 2 * MINUTE);

  test(
    'open and close what the table of the docs says',
    async () => {
      await apply(await policies([]));
      await becomes(table('closed'));
    },
    2 * MINUTE,
  );

  test(
    'open to the broker what broker.egress names',
    async () => {
      await apply(await policies(brokerEgress));
      await becomes(table('open'));
    },
    2 * MINUTE,
  );
});

/** The addresses of each destination, by what the page calls it. */
async function targetsOf({ kubectl, apiServer }: Cluster): Promise<Record<string, readonly Target[]>> {
  const { items } = JSON.parse(await kubectl(['get', 'pods', '--all-namespaces', '--output=json'])) as {
    items: { metadata: { name: string; namespace: string }; status: { podIP: string } }[];
  };
  const pod = (name: string, port: number): readonly Target[] => {
    const { namespace } = pods.find((each) => each.name === name) ?? {};
    const found = items.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
    if (found === undefined) throw new Error(`no pod ${name} in ${namespace}`);
    return [[found.status.podIP, port]];
  };
  const { hostname: node, port } = new URL(apiServer);
  const service = await kubectl(['get', 'service', 'kubernetes', '--output=jsonpath={.spec.clusterIP}']);
  return {
    'API server, port 6443': [
      [node, Number(port)],
      [service, 443],
    ],
    'kubelet, port 10250': [[node, 10_250]],
    'metadata address, port 80': [[NODE_STAND_INS.metadata, 80]],
    'another sandbox: its guest, port 2790': pod('other-sandbox', 2790),
    'another sandbox: previews through its guest, port 2791': pod('other-sandbox', 2791),
    'another sandbox: an app, port 3000': pod('other-sandbox', 3000),
    'functions: the API, port 8787': pod('other-functions', 8787),
    'functions: the channel, port 8788': pod('other-functions', 8788),
    'broker, port 8789': pod('other-broker', 8789),
    'browsers, port 8790': pod('other-browsers', 8790),
    'database, port 5432': [[NODE_STAND_INS.database, 5432]],
    'DNS of the cluster, port 53': pod(dns, 53),
    'gateway, port 443': pod('gateway', 443),
    'internet, port 443': [[NODE_STAND_INS.internet, 443]],
  };
}
