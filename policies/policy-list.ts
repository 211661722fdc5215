import type { Policies } from '@pulumi/policy';
import { boundedWarmPools } from './bounded-warm-pools.ts';
import { networkRange } from './network-range.ts';
import { noHostAccess } from './no-host-access.ts';
import { noWildcardRbac } from './no-wildcard-rbac.ts';
import { pinnedImages } from './pinned-images.ts';
import { sandboxIsolation } from './sandbox-isolation.ts';
import { sandboxLimits } from './sandbox-limits.ts';
import { sandboxNoToken } from './sandbox-no-token.ts';
import { sandboxPlacement } from './sandbox-placement.ts';
import { tlsListeners } from './tls-listeners.ts';
import { unmanagedTemplates } from './unmanaged-templates.ts';
import { unprivilegedPods } from './unprivileged-pods.ts';
import { wildcardUnderZone } from './wildcard-under-zone.ts';

/** Every policy of the pack: one a file, its name the file's. */
export const policies: Policies = [
  boundedWarmPools,
  networkRange,
  noHostAccess,
  noWildcardRbac,
  pinnedImages,
  sandboxIsolation,
  sandboxLimits,
  sandboxNoToken,
  sandboxPlacement,
  tlsListeners,
  unmanagedTemplates,
  unprivilegedPods,
  wildcardUnderZone,
];
