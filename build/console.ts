/** `node build/console.ts`: builds the console where its build is missing or of other sources. */
import { buildConsole, isConsoleStale } from './build-console.ts';

if (await isConsoleStale()) await buildConsole();
