import { FEATURES } from '#handlers/features.ts';
import { lazyRoute, type LazyRoute } from './router.ts';

/** All routes. In bundles, the first request of a route loads it (`build/lazy-routes.ts`). */
export const HOST_ROUTES: readonly LazyRoute[] = Object.entries(FEATURES).flatMap(([feature, { routes }]) =>
  routes.map((route) => ({ ...lazyRoute(route), feature })),
);
