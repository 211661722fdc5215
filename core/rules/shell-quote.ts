/** What the bridge passes through as it is. The underscore is deliberately not in it: clients compare the quoted form. */
const SAFE = /^[A-Za-z0-9@%+=:,./-]+$/;
const ESCAPES: Record<string, string> = { '\\': '\\\\', "'": "\\'", '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** One word of a shell command, in the bridge's ANSI-C `$'…'` quoting (bash). */
export function shellQuote(word: string): string {
  if (SAFE.test(word)) return word;
  return `$'${word.replace(/[\\'\n\r\t]/g, (char) => ESCAPES[char] as string)}'`;
}

/** `argv` as one command line for `bash -c`; builtins and assignments work, as they do on the bridge. */
export function shellCommand(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}
