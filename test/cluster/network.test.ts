/** Secrets that never enter a pod; the broker is another process of this machine. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { importSandboxImage, SANDBOX_IMAGE } from '#test/adapters/kubernetes/sandboxes/sandbox-image.ts';
import { networkSecretsContract } from '#test/contracts/network-secrets.contract.ts';
import { SIGNING_KEYS } from '#test/infra/support/stack-files.ts';
import { freePort } from '#test/support/free-port.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '#test/support/postgres.ts';
import { suite } from '#test/support/suite.ts';
import { type Cluster, cluster, missing } from './fixture/cluster.ts';
import { startBrokerProcess } from './hosts/broker-process.ts';

const namespace = `network-${randomBytes(4).toString('hex')}`;

suite('the network of a pod', missing() ?? postgresMissing, () => {
  let fixture: Cluster;
  let postgres: TestPostgres;
  let environment: Record<string, string>;
  const kubeconfig = process.env['KUBECONFIG'];

  beforeAll(async () => {
    fixture = await cluster();
    [postgres] = await Promise.all([startPostgres(), importSandboxImage(fixture)]);
    await fixture.kubectl(['create', 'namespace', namespace]);
    process.env['KUBECONFIG'] = fixture.kubeconfig;
    environment = {
      DATABASE_URL: postgres.url,
      PORTHOLE_SIGNING_KEYS: SIGNING_KEYS,
      PORTHOLE_PROVIDER: 'kubernetes',
      PORTHOLE_SANDBOX_IMAGE: SANDBOX_IMAGE,
      PORTHOLE_BROKER_URL: `tcp://${fixture.hostAddress}:${await freePort(fixture.hostAddress)}`,
      Sandbox__Preview__Namespace: namespace,
      Sandbox__Preview__Enabled: 'false',
    };
  }, 180_000);
  afterAll(async () => {
    if (kubeconfig === undefined) delete process.env['KUBECONFIG'];
    else process.env['KUBECONFIG'] = kubeconfig;
    await fixture.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await postgres?.stop();
  }, 120_000);

  const settings = () => ({ ...environment, PORTHOLE_GUEST_REACH: 'address' });
  const startBroker = (more: Readonly<Record<string, string>>) =>
    startBrokerProcess({ KUBECONFIG: fixture.kubeconfig, ...environment, ...more });

  describe('for secrets that never enter', () => void networkSecretsContract(settings, startBroker));
});
