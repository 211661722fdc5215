import { join } from 'node:path';

/**
 * The folder into which `npm run build`, `npm start` and the image of the function host put the
 * console.
 */
export const CONSOLE_FOLDER = join(import.meta.dirname, '../../dist/console');
/** What a build depends on, below the project: files, and folders with everything in them. */
export const CONSOLE_SOURCES = [
  'console',
  // What the console uses of other folders: the stage of the image copies it, too.
  'base/plain-text.ts',
  'protocol/preview-words.ts',
  'client/loopback-url.ts',
  'client/streams/byte-streams.ts',
  'client/streams/sse-parser.ts',
  // The documentation.
  'docs/README.md',
  'docs/performance.md',
  'docs/start',
  'docs/guides',
  'docs/concepts',
  'docs/reference',
  'client/README.md',
  'CHANGELOG.md',
  'package-lock.json',
  'build/build-console.ts',
];
/** Name of the console's folder beside functions that are separate bundles. */
export const BUNDLED_CONSOLE = 'console';
/** Written last: without it a build is incomplete. Contains the digest of the sources. */
export const CONSOLE_MARK = '.digest';
/** The page that chat applications show for a preview (MCP Apps), in the same folder. */
export const PREVIEW_APP_PAGE = 'preview-app.html';
/** The viewer of the API's documentation, in the same folder; read when its page is opened. */
export const API_VIEWER = 'api-viewer.js';
