/** `@porthole/pulumi`: Porthole as components of a Pulumi program. */
export { Access } from './access.ts';
export { Admission } from './admission.ts';
export { Browsers } from './browsers.ts';
export { Functions } from './functions.ts';
export { Gateway } from './preview-gateway-routes.ts';
export type { PortholeArgs } from './porthole-args.ts';
export { Namespaces } from './namespaces.ts';
export { Network } from './network.ts';
export { Porthole } from './porthole-stack.ts';
export { Quota } from './quota.ts';
export { Routes } from './routes.ts';
export { Sandboxes } from './sandbox-templates.ts';
export { readStackConfig, StackConfigError } from './read-stack-config.ts';
export { Lifecycle, Reaper, Snapshots, WarmPool } from './scheduled-jobs.ts';
