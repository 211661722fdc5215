import { createInterface } from 'node:readline';
import { setInterval } from 'node:timers/promises';
import type { Steps } from './steps.ts';

export interface Watch {
  readonly steps: Steps;
  /** `…/file/workspace/…` of the project's folder. */
  readonly editUrl: string;
  /** Whether calls need the key. */
  readonly secured: boolean;
  /** Writes a file of the project. */
  readonly write: (path: string, text: string) => Promise<void>;
  readonly keepAlive: () => Promise<void>;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
}

/** An unused preview ends after half an hour; one ping a minute is sufficient. */
const KEEP_ALIVE_MS = 60_000;

/** The edits of successive presses of Enter. */
const EDITS: readonly (readonly [path: string, text: string])[] = [
  ['src/heading.js', "export default 'Edited while you watched';\n"],
  ['src/accent.css', ':root {\n  --accent: #b45309;\n}\n'],
  ['src/heading.js', "export default 'And once more';\n"],
  ['src/accent.css', ':root {\n  --accent: #7c3aed;\n}\n'],
  ['src/heading.js', "export default 'Hello from the sandbox';\n"],
  ['src/accent.css', ':root {\n  --accent: #0e7490;\n}\n'],
];

/**
 * Explains hot reload to the user, makes edits on Enter, and keeps the preview alive until Ctrl-C.
 */
export async function watchAndEdit({
  steps,
  editUrl,
  secured,
  write,
  keepAlive,
  signal,
}: Watch): Promise<void> {
  const onTerminal = process.stdin.isTTY;
  const key = secured ? '-H "Authorization: Bearer $SANDBOX_API_KEY" ' : '';
  steps.say('Open it in a browser, then edit the project, and watch the page change without a reload:');
  steps.say();
  steps.say(`  curl -X PUT ${key}${editUrl}/src/heading.js -d "export default 'It is alive'"`);
  steps.say();
  steps.say(`${onTerminal ? 'Enter makes an edit for you. ' : ''}Ctrl-C ends the demo.`);
  steps.say();

  const failed = Promise.withResolvers<never>();
  const lines = onTerminal ? createInterface({ input: process.stdin }) : undefined;
  let edits = 0;
  lines?.on('line', () => {
    const [path, text] = EDITS[edits++ % EDITS.length] as (typeof EDITS)[number];
    steps
      .run(
        `Editing ${path}`,
        () => write(path, text),
        () => `Edited ${path}: ${text.replaceAll(/\s+/g, ' ').trim()}`,
      )
      .catch(failed.reject);
  });
  const keepingAlive = async () => {
    for await (const _ of setInterval(KEEP_ALIVE_MS, undefined, { signal })) await keepAlive();
  };
  try {
    await Promise.race([keepingAlive(), failed.promise]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    lines?.close();
  }
}
