/** Porthole behind a platform team's Gateway: their provider, their database, two zones. */
import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { Porthole, type PortholeArgs } from '../../../infra/index.ts';

const config = new pulumi.Config();
const name = config.require('name');
const settings = { enableConfigMapMutable: true, enableSecretMutable: true };
const provider = new kubernetes.Provider('cluster', settings);
const database = kubernetes.core.v1.Secret.get('database', `${name}-data/database`, { provider });
const gateway = { name: 'shared', namespace: `${name}-edge` };
const acme = { existing: { ...gateway, sectionName: 'acme' } };
const args: PortholeArgs = {
  zone: `previews.${name}.test`,
  zones: [{ zone: `acme.${name}.test`, orgs: ['acme'], gateway: acme }],
  apiHost: `porthole.${name}.test`,
  gateway: {
    existing: { ...gateway, sectionName: 'previews', apiSectionName: 'api' },
    podNamespace: 'gateways',
    podLabels: { app: 'gateway' },
  },
  namespaces: { previews: `${name}-previews`, functions: `${name}-functions` },
  functions: { image: 'porthole.test/serving:1', cpu: '10m' },
  sandboxes: { image: 'porthole.test/sandbox:none' },
  preview: { allowedPortMax: config.getNumber('allowedPortMax') ?? 9000 },
  databaseUrl: database.data.apply(({ url = '' }) => Buffer.from(url, 'base64').toString()),
  signingKeys: config.requireSecret('signingKeys'),
  serviceKey: config.requireSecret('serviceKey'),
};
const component = config.get('component') ?? 'porthole';
const options = { provider, aliases: [{ name: 'porthole' }] };
export const { apiUrl, previewZones, gatewayAddress } = new Porthole(component, args, options);
