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
// Commands on the host's data folder, or on a cluster, are in the repository alone.
const [command = '', ...words] = process.argv.slice(2);
const OPERATIONS = { backup: '../host/backup.ts', restore: '../host/backup.ts' };
const isOfCluster = command === 'doctor' && words.includes('--gateway');
const operation = isOfCluster ? '../host/gateway-doctor.ts' : OPERATIONS[command];
if (operation !== undefined && existsSync(new URL(operation, import.meta.url))) {
  const { operate } = await import(operation);
  await operate([command, ...words]);
} else await import(existsSync(new URL(source, import.meta.url)) ? source : './dist/cli/main.js');
