/** What a function loads when it opens its services: one module, because each costs time. */
export { secretsOf } from '../config/config.ts';
export { openServices } from '../open-services.ts';
export { readFunctionConfig } from './function-config.ts';
