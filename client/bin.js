#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

// The user's own folder, not the default below /tmp: other users could put code there.
const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
// Node 20 has none.
module.enableCompileCache?.(process.env['NODE_COMPILE_CACHE'] ?? join(cache, 'porthole/compiled'));

// In the repository Node runs the TypeScript, so that a build never shadows it.
const source = './cli/main.ts';
// Commands on the host's data folder need the host's program, which is in the repository alone.
const backup = '../host/backup.ts';
const isOperation = ['backup', 'restore'].includes(process.argv[2] ?? '');
if (isOperation && existsSync(new URL(backup, import.meta.url))) {
  const { operate } = await import(backup);
  await operate(process.argv.slice(2));
} else await import(existsSync(new URL(source, import.meta.url)) ? source : './dist/cli/main.js');
