import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
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

/** A stack with every kind of object that the test cluster has a definition for. */
const file = stackFile({
  'porthole:namespaces': { ...NAMESPACES, existing: [NAMESPACES.gateway] },
  'porthole:gateway': {
    className: GATEWAY_CLASS,
    podNamespace: 'gateways',
    podLabels: { app: 'gateway' },
    probe: { url: 'https://gateway.gateways' },
    infrastructure: { annotations: { 'example.com/scheme': 'internal' } },
  },
  'porthole:certificates': { previewSecret: 'wildcard', apiSecret: 'wildcard' },
  'porthole:functions': {
    image: 'registry.example.com/functions@sha256:0123',
    placement: { tolerations: [{ key: 'platform', operator: 'Exists' }], affinity: { podAntiAffinity: {} } },
  },
  'porthole:sandboxes': {
    provider: 'auto',
    image: 'sandbox',
    guestImage: 'guest',
    runtimeClassName: 'gvisor',
    priorityClassName: 'sandboxes',
    pod: {
      labels: { team: 'agents' },
      nodeSelector: { pool: 'sandboxes' },
      tolerations: [{ key: 'sandboxes', operator: 'Exists', tolerationSeconds: 60 }],
      topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
    },
    templates: { node: { image: 'node' } },
    warmPools: { ready: { template: 'node', replicas: 2 } },
    egress: ['203.0.113.0/24', '2001:db8::/32'],
  },
  'porthole:archives': { bucket: 'archives', existingSecret: 'archives' },
});

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
    await fixture.kubectl(['delete', 'namespace', ...Object.values(NAMESPACES), '--wait=false']);
  });

  test('is accepted by an API server, without a warning', async () => {
    const said = await fixture.kubectl(
      ['apply', '--server-side', '--dry-run=server', '--warnings-as-errors', '--filename=-'],
      yaml,
    );
    const accepted = said.split('\n').filter((line) => line.endsWith('serverside-applied (server dry run)'));
    expect(accepted).toHaveLength(parseAllDocuments(yaml).length);
    expect(accepted.length).toBeGreaterThan(45);
  });
});
