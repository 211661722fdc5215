/**
 * `node build/write-console-api-types.ts`: brings the console's types up to date with the routes.
 */
import { writeFileSync } from 'node:fs';
import { API_TYPES, consoleApiTypes } from './console-api-types.ts';

writeFileSync(API_TYPES, await consoleApiTypes());
