import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { codeInterpreterFolder } from '#adapters/local/code-interpreter-folder.ts';
import type { Missing } from './suite.ts';

export const codeInterpreterMissing: Missing = existsSync(
  join(codeInterpreterFolder(process.env) ?? '/', 'current'),
)
  ? undefined
  : 'The code interpreter is not installed: npm run code:install';
