/** `node build/console.ts`: builds the console where its build is missing or of other sources. */
import { updateConsole } from './build-console.ts';

await updateConsole();
