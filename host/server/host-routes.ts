import { ROUTES } from '#handlers/routes.ts';
import { lazyRoute, type LazyRoute } from './router.ts';

/** All routes. In bundles, the first request of a route loads it (`build/lazy-routes.ts`). */
export const HOST_ROUTES: readonly LazyRoute[] = ROUTES.map(lazyRoute);
