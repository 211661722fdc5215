#!/usr/bin/env node
import { existsSync } from 'node:fs';

// In the repository Node runs the TypeScript, so that a build never shadows it.
const source = './cli/main.ts';
// Commands on the host's data folder need the host's program, which is in the repository alone.
const backup = '../host/backup.ts';
const isOperation = ['backup', 'restore'].includes(process.argv[2] ?? '');
if (isOperation && existsSync(new URL(backup, import.meta.url))) {
  const { operate } = await import(backup);
  await operate(process.argv.slice(2));
} else await import(existsSync(new URL(source, import.meta.url)) ? source : './dist/cli/main.js');
