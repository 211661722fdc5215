/** Porthole in a platform team's own program: its provider, its database, its Gateway. */
import * as kubernetes from '@pulumi/kubernetes';
import * as pulumi from '@pulumi/pulumi';
import { Porthole } from '../../infra/index.ts';

const config = new pulumi.Config();
const platform = new pulumi.StackReference('acme/platform/prod');
const provider = new kubernetes.Provider('cluster', {
  context: 'platform',
  enableConfigMapMutable: true,
  enableSecretMutable: true,
  enablePatchForce: true,
});

const porthole = new Porthole(
  'porthole',
  {
    zone: 'previews.example.net',
    apiHost: 'porthole.example.com',
    gateway: {
      existing: { name: 'shared', namespace: 'edge', sectionName: 'previews', apiSectionName: 'web' },
      podNamespace: 'traefik',
      podLabels: { 'app.kubernetes.io/name': 'traefik' },
    },
    functions: {
      image: 'registry.example.com/porthole/functions@sha256:0123',
      placement: { nodeSelector: { pool: 'platform' }, priorityClassName: 'platform' },
    },
    sandboxes: { image: platform.requireOutput('sandboxImage').apply(String) },
    environment: { SANDBOX_IDLE_TIMEOUT_MINUTES: 15, PORTHOLE_QUOTAS: { default: { sandboxes: 3 } } },
    databaseUrl: platform.requireOutput('databaseUrl').apply(String),
    signingKeys: config.requireSecret('signingKeys'),
    serviceKey: config.requireSecret('serviceKey'),
  },
  { provider },
);

export const { apiUrl, functions, gateway, gatewayAddress, namespaces } = porthole;
