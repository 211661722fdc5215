import { join } from 'node:path';

/** The root of the project. */
export const ROOT = join(import.meta.dirname, '..');
