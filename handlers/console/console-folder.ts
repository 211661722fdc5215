import { join } from 'node:path';

/**
 * Where `npm run build` and `npm start` put the console, and where the image of the function host
 * has it.
 */
export const CONSOLE_FOLDER = join(import.meta.dirname, '../../dist/console');
/**
 * Name of the folder that lies beside the functions that serve the console, where each is a
 * separate bundle.
 */
export const BUNDLED_CONSOLE = 'console';
/** Written last: without it a build is not complete. It is the digest of the sources. */
export const CONSOLE_MARK = '.digest';
