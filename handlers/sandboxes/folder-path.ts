import { z } from 'zod';

/** `path` of the routes that take a folder of the workspace. */
export const FolderPath = z
  .string()
  .default('/workspace')
  .describe('Within /workspace, the default; relative ones count from there')
  .meta({ example: '/workspace' });
