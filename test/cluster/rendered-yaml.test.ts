import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { LABELS } from '#constructs/names.ts';
import { stackFile } from '../infra/support/stack-files.ts';
import { suite } from '../support/suite.ts';
import { definitionsMissing, installDefinitions } from './agent-sandbox-stand-in/definitions.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { GATEWAY_CLASS } from './fixture/objects.ts';

const RENDER = join(import.meta.dirname, '../../infra/render/main.ts');
const prefix = `rendered-${process.pid}`;
const NAMESPACES = {
  previews: `${prefix}-previews`,
  gateway: `${prefix}-gateway`,
  functions: `${prefix}-functions`,
};

/**
 * A stack with every kind of object that the test cluster has a definition for, all optional
 * features, and quantities in other forms than the API server stores. Its pods fit on no node.
 */
const file = stackFile({
  'porthole:zone': `${prefix}.test`,
  'porthole:zones': [{ zone: `${prefix}-acme.test`, orgs: ['acme'], gateway: { name: 'acme' } }],
  'porthole:namespaces': { ...NAMESPACES, existing: [NAMESPACES.gateway] },
  'porthole:gateway': {
    className: GATEWAY_CLASS,
    podNamespace: 'gateways',
    podLabels: { app: 'gateway' },
    probe: { url: 'https://gateway.gateways', ca: rootCertificates[0] },
    // Some readers of YAML take these texts for other types.
    annotations: { 'example.com/yes': 'y', 'example.com/time': '1:30' },
    infrastructure: {
      annotations: { 'example.com/scheme': 'internal' },
      parametersRef: { group: 'example.com', kind: 'Parameters', name: 'gateway' },
    },
    addresses: [{ value: '192.0.2.1' }],
  },
  'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard' },
  'porthole:functions': {
    image: 'registry.example.com/functions@sha256:0123',
    cpu: '1000m',
    memory: '0.5Gi',
    databaseCa: rootCertificates[0],
    pullSecret: 'pull',
    allowFrom: [{ namespace: 'monitoring', podLabels: { app: 'prometheus' } }],
    placement: {
      nodeSelector: { 'example.com/no-such': 'node' },
      tolerations: [{ key: 'platform', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
    },
  },
  'porthole:sandboxes': {
    provider: 'auto',
    image: 'sandbox',
    guestImage: 'guest',
    runtimeClassName: 'gvisor',
    priorityClassName: 'sandboxes',
    pullSecret: 'pull',
    storageClass: 'standard',
    channel: true,
    hostUsers: false,
    maxTotal: 1_000,
    pod: {
      labels: { team: 'agents' },
      nodeSelector: { pool: 'sandboxes' },
      tolerations: [{ key: 'sandboxes', operator: 'Exists', tolerationSeconds: 60 }],
      topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    },
    templates: { node: { image: 'node' } },
    warmPools: { ready: { template: 'node', replicas: 2 } },
    warmPoolTarget: 2,
    egress: ['203.0.113.0/24', '2001:db8::/32'],
  },
  'porthole:archives': { bucket: 'archives' },
  'porthole:archiveAccessKeyId': 'key',
  'porthole:archiveSecretAccessKey': 'secret',
  'porthole:broker': { egress: ['10.20.0.0/24'], memory: '1024Mi' },
  'porthole:browsers': { image: 'browsers@sha256:1', egress: ['203.0.113.10/32'], pages: 4 },
});

interface Claim {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

interface Stored {
  readonly items: readonly {
    readonly metadata: object;
  }[];
}

suite('the YAML of porthole-render', missing() ?? definitionsMissing(), () => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-rendered-'));
  let fixture: Cluster;
  let yaml: string;

  beforeAll(async () => {
    fixture = await cluster();
    writeFileSync(
      join(folder, 'Pulumi.prod.yaml'),
      stringify({ config: { ...file.config, ...file.secrets } }),
    );
    const render = promisify(execFile)(process.execPath, [RENDER, '--stack', 'prod'], { cwd: folder });
    await installDefinitions(fixture.kubectl);
    // A dry run stores no namespace, so the objects in it would not be found.
    for (const name of Object.values(NAMESPACES)) await fixture.kubectl(['create', 'namespace', name]);
    yaml = (await render).stdout;
  }, 60_000);
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await fixture.kubectl(['delete', '--ignore-not-found', '--wait=false', '--filename=-'], yaml);
    const namespaces = ['delete', 'namespace', ...Object.values(NAMESPACES)];
    await fixture.kubectl([...namespaces, '--ignore-not-found', '--wait=false']);
  });

  test('is accepted by an API server, without a warning', async () => {
    const said = await fixture.kubectl(
      ['apply', '--server-side', '--dry-run=server', '--warnings-as-errors', '--filename=-'],
      yaml,
    );
    const accepted = said.split('\n').filter((line) => line.endsWith('serverside-applied (server dry run)'));
    expect(accepted).toHaveLength(parseAllDocuments(yaml).length);
    expect(accepted.length).toBeGreaterThan(60);
  });

  // An interrupted `pulumi up` forgets the objects that it has made. The next one makes them again,
  // as another field manager, and without force.
  test('changes nothing and conflicts with nothing when another field manager applies it again', async () => {
    const apply = (manager: string, ...flags: string[]) =>
      fixture.kubectl(
        ['apply', '--server-side', `--field-manager=${manager}`, ...flags, '--filename=-'],
        yaml,
      );
    const stored = async () => {
      const read = await fixture.kubectl(['get', '--output=json', '--filename=-'], yaml);
      return (JSON.parse(read) as Stored).items.map(({ metadata, ...object }) => ({
        ...object,
        status: undefined,
        metadata: { ...metadata, managedFields: undefined, resourceVersion: undefined },
      }));
    };
    await apply('interrupted');
    const first = await stored();
    await apply('again', '--dry-run=server');
    await apply('again');
    expect(await stored()).toEqual(first);
  }, 60_000);

  test('refuses the zone of another installation, and names the holder', async () => {
    const claim = parseAllDocuments(yaml)
      .map((each) => each.toJSON() as Claim)
      .find(({ metadata }) => metadata.name === `porthole-zone:${prefix}.test`);
    if (claim === undefined) throw new Error('the zone is not claimed');
    const claimBy = (namespace: string, ...flags: string[]) => {
      const labels = { ...claim.metadata.labels, [LABELS.installation]: namespace };
      const theirs = { ...claim, metadata: { ...claim.metadata, labels } };
      return fixture.kubectl(['apply', '--server-side', ...flags, '--filename=-'], JSON.stringify(theirs));
    };
    const holder = claim.metadata.annotations['pulumi.com/patchFieldManager'] ?? '';
    expect(holder).toBe(`porthole-in-namespace-${NAMESPACES.functions}`);
    // As the first `up` of each stack, then as `preview`, which applies with force.
    await claimBy(NAMESPACES.functions, `--field-manager=${holder}`);
    await expect(claimBy('other', '--field-manager=porthole-in-namespace-other')).rejects.toThrow(
      `"${holder}"`,
    );
    await expect(claimBy('other', '--dry-run=server', '--force-conflicts')).rejects.toThrow(
      `taken zone: ${prefix}.test belongs to the installation in namespace ${NAMESPACES.functions}`,
    );
  }, 30_000);
});
