#!/usr/bin/env node
import { existsSync } from 'node:fs';

// In the repository Node runs the TypeScript, so that a build never shadows it.
const source = './cli/main.ts';
await import(existsSync(new URL(source, import.meta.url)) ? source : './dist/cli/main.js');
