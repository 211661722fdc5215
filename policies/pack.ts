/**
 * What `pulumi up --policy-pack policies` starts: it serves the list for as long as Pulumi asks.
 */
import { PolicyPack } from '@pulumi/policy';
import { policies } from './policy-list.ts';

// Constructing it starts the server.
export const pack = new PolicyPack('porthole', { enforcementLevel: 'mandatory', policies });
