/**
 * Whether a command line must start again to show an edit: it compiles once, or loads its code once
 * and does not watch it. Pure. Of an unknown program it is false: most dev servers watch.
 * @param scripts of package.json, which the line may run
 */
export function needsRestart(line: string, scripts: Readonly<Record<string, string>> = {}): boolean {
  return needs(line, scripts, MAX_SCRIPTS);
}

/** Maximum scripts that run each other: a script may run itself by mistake. */
const MAX_SCRIPTS = 5;

function needs(line: string, scripts: Readonly<Record<string, string>>, left: number): boolean {
  // The last part is the server: `npm run build && node dist/server.js`.
  const last = line.split(/&&|;/).at(-1) ?? '';
  if (WATCHES.test(last)) return false;
  const words = last.trim().split(/\s+/);
  const at = words.findIndex((word) => !BEFORE.test(word));
  const [program = '', first = '', second = ''] = words.slice(Math.max(0, at));
  if (/^(?:npm|pnpm|yarn|bun)$/.test(program)) {
    const script = scripts[first === 'run' ? second : first];
    if (script !== undefined) return left > 0 && needs(script, scripts, left - 1);
    return program === 'bun' && SOURCE.test(first === 'run' ? second : first);
  }
  return LOADS_ONCE.some(([name, argument]) => name.test(program) && argument.test(`${first} ${second}`));
}

/** Options and programs that follow edits. */
const WATCHES =
  /\s--?(?:watch|watch-path|hot|reload|debug)\b|\b(?:tsx|bun) watch\b|\bnodemon\b|runOnSave|http\.server|runserver/;
/** Before the program: `exec`, `cross-env`, `npx`, variables and their options. */
const BEFORE = /^(?:exec|env|npx|bunx|cross-env|dotenv|--|--yes|-y|[A-Za-z_]\w*=.*)$/;
/** A file of code, or a folder with one. */
const SOURCE = /\.[cm]?[jt]sx?\b|^\.{0,2}\//;
const ANY = /(?:)/;

const LOADS_ONCE: readonly (readonly [program: RegExp, argument: RegExp])[] = [
  [/^(?:\S*\/)?node$/, ANY],
  [/^(?:tsx|ts-node|ts-node-esm|swc-node|esno)$/, ANY],
  [/^deno$/, /^(?:run|serve)\b/],
  [/^(?:go|cargo)$/, /^run\b/],
  [/^(?:java|ruby)$/, ANY],
  [/^(?:\S*\/)?(?:gradlew?|mvnw?)$/, ANY],
  [/^(?:\S*\/)?python[\d.]*$/, /\.py\b|^-m (?:uvicorn|gunicorn|hypercorn|flask|gradio)/],
  [/^(?:uvicorn|gunicorn|hypercorn|daphne)$/, ANY],
  [/^(?:flask|rackup|puma)$/, ANY],
  // The watcher of `ng serve` misses replaced files.
  [/^ng$/, /^serve\b/],
  // A program that was built before.
  [/^\.\/(?:target|bin|build)\//, ANY],
];
