import { randomBytes } from 'node:crypto';
import type { CheckedCommand } from './check-command.ts';

/**
 * How a command is started in a container. The API server's exec knows neither cwd nor environment, puts its arguments into the URL (so into audit logs), tells no
 * process id, and ends its streams only when the last process that holds them does. So a POSIX shell is started with nothing of the caller's in its arguments. It
 * tells its process id, which is that of its session and process group; takes the command from its stdin, up to an empty line; and starts it.
 */
export interface CommandScript {
  readonly argv: readonly string[];
  /** To be written to stdin once the mark has come. */
  readonly preamble: Buffer;
  /** 32 hex digits that nobody else knows. It comes first on stdout, then a space and the process id; what it means later depends on the script. */
  readonly mark: string;
}

/** In one line of a terminal's input go at most 4,095 bytes. */
const LINE = 2_048;

/** Reads the command into `_porthole`. Input that ends before the empty line is a caller that has gone: nothing is started. */
const READ_COMMAND = `printf '%s %s\\n' "$1" "$$"
_porthole=
while :; do IFS= read -r _line || exit 1; [ -n "$_line" ] || break; _porthole=$_porthole$_line; done
_porthole=$(printf '%b.' "$_porthole")
_porthole=\${_porthole%.}
`;

/**
 * For pipes. The command writes into pipes of its own, which two relays pass on; when it has ended, the mark and its exit code follow as the last line of both.
 * So the end is told at once, whoever still holds the pipes; and the relays outlive the connection and swallow what such processes write from then on, which
 * would kill or stop them otherwise. The command can be signalled as a group: all but the command ignores what a group is sent.
 */
const RELAYED = `${READ_COMMAND}trap '' HUP INT QUIT TERM USR1 USR2
relay() { exec <&8 >&"$1" 2>/dev/null 3>&- 4>&- 5<&- 6>&- 7>&- 8<&-; cat; exec cat >/dev/null; }
exec 3>&1 4>&2 5<&0
_code=$(
  exec 6>&1
  {
    {
      ( trap - HUP INT QUIT TERM USR1 USR2; eval "$_porthole" ) <&5 2>&9 3>&- 4>&- 5<&- 6>&- 7>&- 9>&-
      _code=$?
      printf '%s %s\\n' "$1" "$_code"
      printf '%s %s\\n' "$1" "$_code" >&9
      printf %s "$_code" >&6
    } 9>&1 >&7 2>/dev/null 7>&- | { relay 4 & } 8<&0
  } 7>&1 | { relay 3 & } 8<&0
)
exit "$_code"`;

/**
 * For a terminal. The command takes the shell's place: a terminal hangs up when its session's leader ends, so there is no end to be told. Its input is echoed until
 * the mark comes again.
 */
const ON_TERMINAL = `${READ_COMMAND}stty rows "$2" cols "$3" 2>/dev/null
printf '%s\\n' "$1"
eval "$_porthole"`;

export function commandScript(
  command: CheckedCommand,
  base: Readonly<Record<string, string>>,
): CommandScript {
  const mark = randomBytes(16).toString('hex');
  const { tty } = command;
  const [script, ...size] = tty === null ? [RELAYED] : [ON_TERMINAL, String(tty.rows), String(tty.cols)];
  return {
    argv: ['sh', '-c', script ?? '', 'sh', mark, ...size],
    preamble: encode(startLines(command, base)),
    mark,
  };
}

/** What the shell is to run: `env` and not `export`, because to shells some variables are special. */
function startLines(
  { argv, cwd, env, stdin, tty }: CheckedCommand,
  base: Readonly<Record<string, string>>,
): string {
  const variables = Object.entries({ ...base, ...env }).map(([name, value]) => `${name}=${value}`);
  // Of a program whose name has an equals sign, env would make a variable.
  const program = argv[0].includes('=') ? ['sh', '-c', 'exec "$0" "$@"', ...argv] : argv;
  const words = ['env', '--', ...variables, ...program].map(quote).join(' ');
  const input = stdin || tty !== null ? '' : ' </dev/null';
  return `cd -- ${quote(cwd)} || exit 126\nexec ${words}${input}`;
}

/** One word for any POSIX shell. */
function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** In lines of printable characters, which a terminal passes on as they are; every other byte is `\0ooo`, as printf's `%b` takes it. */
function encode(text: string): Buffer {
  const printable = Array.from(Buffer.from(text), (byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x5c
      ? String.fromCharCode(byte)
      : `\\0${byte.toString(8).padStart(3, '0')}`,
  ).join('');
  const lines = printable.match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return Buffer.from(`${lines.join('\n')}\n\n`);
}
