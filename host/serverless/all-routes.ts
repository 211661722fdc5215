import { namesOf } from '#protocol/settings/optional-features.ts';
import { HOST_ROUTES } from '../server/host-routes.ts';
import { servedRoutes } from '../server/router.ts';
import { routerFunction } from './router-function.ts';

/** Read before the configuration is, which the first request opens and validates. */
const off = new Set(namesOf(process.env['PORTHOLE_FEATURES_OFF'] ?? ''));

export const { handler, stream } = routerFunction(servedRoutes(HOST_ROUTES, off));
