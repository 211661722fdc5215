import { HOST_ROUTES } from '../server/host-routes.ts';
import { routerFunction } from './router-function.ts';

/** The function of all routes. */
export const { handler, stream } = routerFunction(HOST_ROUTES);
