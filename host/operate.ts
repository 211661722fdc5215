/**
 * `porthole backup` and `porthole restore`: commands for the host's own machine, on its data
 * folder.
 */
import { backUp, restore } from './backup.ts';
import { EnvironmentSchema } from './config/environment-schema.ts';
import { explain } from './explain.ts';

const [command = '', path = '', ...others] = process.argv.slice(2);
const say = (line: string) => void process.stderr.write(`${line}\n`);
if (path === '' || path.startsWith('-') || others.length > 0) {
  say(`usage: porthole ${command} ${command === 'backup' ? '<folder|file>' : '<file>'}

The data folder is that of PORTHOLE_DATA_DIR; default .porthole in this folder.`);
  process.exitCode = path === '--help' || path === '-h' ? 0 : 2;
} else {
  try {
    const dataDir = EnvironmentSchema.shape.PORTHOLE_DATA_DIR.parse(process.env['PORTHOLE_DATA_DIR']);
    const done = await (command === 'backup' ? backUp(dataDir, path, say) : restore(path, dataDir, say));
    process.stdout.write(`${done}\n`);
  } catch (error) {
    say(explain(error));
    process.exitCode = 1;
  }
}
