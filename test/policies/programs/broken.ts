/** The real program, and one additional resource that no stack may have. */
import * as kubernetes from '@pulumi/kubernetes';
import { gatewayAddress } from '../../../infra/main.ts';

export const address = gatewayAddress;
export const tap = new kubernetes.rbac.v1.Role('tap', {
  metadata: { name: 'tap', namespace: 'agentweaver' },
  rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
}).id;
