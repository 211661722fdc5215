import { HOST_ROUTES } from '../server/host-routes.ts';
import { routerFunction } from './router-function.ts';

export const { handler, stream } = routerFunction(HOST_ROUTES);
