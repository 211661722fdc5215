import { Porthole } from '@porthole/client';
import { bashToolSandbox } from '@porthole/integrations/bash-tool';
import { createBashTool } from 'bash-tool';

await using sandbox = await new Porthole().sandboxes.create({ onExit: 'delete' });
const toolkit = await createBashTool({
  sandbox: bashToolSandbox(sandbox, { timeoutMs: 5_000 }),
  files: { 'src/a.txt': 'first\n' },
});
const call = { toolCallId: '1', messages: [], context: {} };
const bash = (command: string) => toolkit.tools.bash.execute?.({ command }, call);
await toolkit.tools.writeFile.execute?.({ path: 'src/b.txt', content: 'zweite Zeile: ü\n' }, call);
const missing = await toolkit.sandbox.readFile('/workspace/none').catch((error: Error) => error.message);
console.log(
  JSON.stringify({
    both: await bash('cat src/*.txt'),
    bashOnly: await bash('[[ a == a ]] && echo "${BASH_VERSION:+yes}"'),
    failed: await bash('echo out; echo err >&2; exit 3'),
    read: await toolkit.tools.readFile.execute?.({ path: 'src/b.txt' }, call),
    missing,
  }),
);
