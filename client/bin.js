#!/usr/bin/env node
import { existsSync } from 'node:fs';

// In the repository Node runs the TypeScript, so that a build never shadows it.
const source = './cli/main.ts';
// Commands on the host's data folder need the host's program, which is in the repository alone.
const operate = '../host/operate.ts';
const isOperation = ['backup', 'restore'].includes(process.argv[2] ?? '');
const main = existsSync(new URL(source, import.meta.url)) ? source : './dist/cli/main.js';
await import(isOperation && existsSync(new URL(operate, import.meta.url)) ? operate : main);
