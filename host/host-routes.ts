import type { Route } from '#handlers/route.ts';
import { ROUTES } from '#handlers/routes.ts';
import type { LazyRoute } from './router.ts';

/** What the host serves. The bundled host has lazy routes (`build/bundle-host.ts`). */
export const HOST_ROUTES: readonly (Route | (LazyRoute & Pick<Route, 'channel'>))[] = ROUTES;
