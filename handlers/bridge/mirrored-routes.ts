import { fileRoutes } from '../files/file-routes.ts';
import { workspaceRoutes } from '../files/workspace-routes.ts';
import { openapiPageRoutes } from '../ops/openapi-routes.ts';
import { healthRoute } from '../ops/ops-routes.ts';
import { tunnelRoutes } from '../previews/tunnel-routes.ts';
import type { Route } from '../route.ts';
import { mountRoutes } from '../sandboxes/mount-routes.ts';
import { sandboxRoutes } from '../sandboxes/sandbox-routes.ts';
import { sandboxStateRoutes } from '../sandboxes/sandbox-state-routes.ts';
import { warmPoolRoutes } from '../sandboxes/warm-pool-routes.ts';
import { BRIDGE_BASE, BRIDGE_TAG } from './bridge-options.ts';

/** The same function at another address. Release 1.0 has no sessions. */
function mirrored({ session: _none, ...route }: Route): Route {
  const id = `bridge${route.id.slice(0, 1).toUpperCase()}${route.id.slice(1)}`;
  return { ...route, id, path: `${BRIDGE_BASE}${route.path}`, tag: BRIDGE_TAG };
}

/** What release 1.0 of the bridge has unchanged from 0.12. */
export const mirroredRoutes: readonly Route[] = [
  ...[
    ...sandboxRoutes,
    ...sandboxStateRoutes,
    ...fileRoutes,
    ...workspaceRoutes,
    ...mountRoutes,
    ...tunnelRoutes,
    ...warmPoolRoutes,
    healthRoute,
  ].filter(({ bridge }) => bridge === true),
  ...openapiPageRoutes,
].map(mirrored);
