import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** For processes that run our sources in their own environment: half of their time is compiling. */
export const COMPILE_CACHE = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'porthole-compiled'),
};
