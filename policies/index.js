import { existsSync } from 'node:fs';

// The one file that Pulumi's loader sees: it would hand any TypeScript to a compiler, which Node
// needs none of. The repository has the sources, the package has them in one module. Not awaited,
// because the loader requires this file; the pack serves until Pulumi ends it.
const sources = './pack.ts';
void import(existsSync(new URL(sources, import.meta.url)) ? sources : './dist/pack.js');
