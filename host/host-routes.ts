import type { Route } from '#handlers/route.ts';
import { ROUTES } from '#handlers/routes.ts';
import type { RoutedBy } from './router.ts';

/** A route with a module that its first request loads. */
export interface LazyRoute extends RoutedBy, Pick<Route, 'channel'> {
  readonly load: () => Promise<Route>;
}

/** What the host serves. The bundled host has lazy routes (`build/bundle-host.ts`). */
export const HOST_ROUTES: readonly (Route | LazyRoute)[] = ROUTES;
