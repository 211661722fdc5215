import { LABELS } from '#constructs/names.ts';
import { at, type BadManifest, labelled, unlabelled } from './change.ts';

const ports = (...given: object[]) => at('spec.ports', given);

/** Services that must be refused for a preview. */
export const BAD_SERVICES: readonly BadManifest[] = [
  ['a port of every node', at('spec.type', 'NodePort'), 'foreign type'],
  ['a load balancer', at('spec.type', 'LoadBalancer'), 'foreign type'],
  [
    'a name outside of the cluster',
    at('spec', { type: 'ExternalName', externalName: 'evil.test' }),
    'foreign type',
  ],
  ['an address outside of the cluster', at('spec.externalIPs', ['203.0.113.1']), 'foreign type'],
  ['the pods of another app', at('spec.selector', { app: 'database' }), 'foreign selector'],
  ['every sandbox', at('spec.selector', { [LABELS.role]: 'sandbox' }), 'foreign selector'],
  ['a sandbox without a name', at('spec.selector', { [LABELS.sandbox]: '' }), 'foreign selector'],
  ['no selector, with endpoints that anyone may write', at('spec.selector', undefined), 'foreign selector'],
  ['a target below the range', ports({ port: 80, targetPort: 22 }), 'port out of range'],
  ['a target above the range', ports({ port: 80, targetPort: 9001 }), 'port out of range'],
  ['a target by name', ports({ port: 80, targetPort: 'ssh' }), 'port out of range'],
  ['another port', ports({ port: 81, targetPort: 3000 }), 'port out of range'],
  ['a port that is not of TCP', ports({ port: 80, targetPort: 3000, protocol: 'UDP' }), 'port out of range'],
  [
    'a second port',
    ports({ name: 'a', port: 80, targetPort: 3000 }, { name: 'b', port: 22, targetPort: 22 }),
    'port out of range',
  ],
  ['a name that others look up', at('metadata.name', 'database'), 'foreign name'],
  ['a name that the API server makes up', at('metadata.generateName', 'preview-'), 'foreign name'],
  ['no label of a preview', unlabelled, 'not a preview'],
  ['the label of another manager', labelled(LABELS.managedBy, 'helm'), 'not a preview'],
];
