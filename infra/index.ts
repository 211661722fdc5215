/** `@porthole/pulumi`: Porthole as components of a Pulumi program. */
export { Access } from './access/access.ts';
export { Admission } from './admission/admission.ts';
export { Functions } from './functions/functions.ts';
export { Gateway } from './gateway/gateway.ts';
export type { PortholeArgs } from './inputs/porthole-args.ts';
export { Lifecycle } from './lifecycle/lifecycle.ts';
export { Namespaces } from './namespaces/namespaces.ts';
export { Network } from './network/network.ts';
export { Porthole } from './porthole.ts';
export { Quota } from './quota/quota.ts';
export { Reaper } from './reaper/reaper.ts';
export { Routes } from './routes/routes.ts';
export { Sandboxes } from './sandboxes/sandboxes.ts';
export { Snapshots } from './snapshots/snapshots.ts';
export { readStackConfig, StackConfigError } from './stack-config/read-stack-config.ts';
export { WarmPool } from './warm-pool/warm-pool.ts';
