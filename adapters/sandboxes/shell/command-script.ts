import { randomBytes } from 'node:crypto';
import { AGENT_FOLDER } from '#core/rules/agent-access.ts';
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

/**
 * A workspace that its own user has shut, as by `chmod 000 .`, is opened again: nothing would work
 * any more.
 */
const OPEN_WORKSPACE =
  '[ -r /workspace ] && [ -w /workspace ] && [ -x /workspace ] || chmod u+rwx /workspace 2>/dev/null';

/**
 * What `PREPARE_WORKSPACE` ends with where the workspace is another user's, who shuts out the
 * sandbox's.
 */
export const FOREIGN_WORKSPACE = 3;

/**
 * Runs in a container that has started. That it runs shows that commands do; nothing that it finds
 * in the workspace keeps a sandbox from starting. The folder for outputs is made where its name is
 * free.
 */
export const PREPARE_WORKSPACE: readonly string[] = [
  'sh',
  '-c',
  `${OPEN_WORKSPACE}; mkdir /workspace/outputs 2>/dev/null; [ -w /workspace ] || exit ${FOREIGN_WORKSPACE}`,
];

/** In one line of a terminal's input go at most 4,095 bytes. */
const LINE = 2_048;

/** Reads the command into `_porthole`. Input that ends before the empty line is a caller that has gone: nothing is started. */
const READ_COMMAND = `printf '%s %s\\n' "$1" "$$"
_porthole=
while :; do IFS= read -r _line || exit 1; [ -n "$_line" ] || break; _porthole=$_porthole$_line; done
_porthole=$(printf '%b.' "$_porthole")
_porthole=\${_porthole%.}
`;

/** What a process group may be sent; the shell ignores it, the command does not. */
const SIGNALS = 'HUP INT QUIT TERM USR1 USR2';

/**
 * For pipes. The command writes into pipes of its own, which two relays pass on; when it has ended, the mark and its exit code follow as the last line of both. So
 * the end is told at once, whoever still holds the pipes. The relays outlive the connection, and swallow what such processes write from then on: it would kill or
 * stop them otherwise. Where no pipe can be made, the command writes to the shell's own outputs,
 * and the mark follows there.
 *
 * The shell then waits for the end of its input, which comes when the caller has received both
 * marks. A shell that ends earlier can lose output: the runtime closes
 * the node's connection while output is still on its way, and any byte that the API server sends
 * then (a ping, every 5 s) resets it. Input that the command left unread is read meanwhile, for the
 * same reason. Relays that end with the command are waited
 * for: not every container's first process does that.
 */
const RELAYED = `${READ_COMMAND}_pipe=\${TMPDIR:-/tmp}/.porthole-$1
trap '' ${SIGNALS}
_relays=
if mkfifo -m 600 "$_pipe.out" "$_pipe.err" 2>/dev/null; then
  { exec 2>/dev/null; cat; exec cat >/dev/null; } <"$_pipe.out" &
  _relays=$!
  { exec >&2 2>/dev/null; cat; exec cat >/dev/null; } <"$_pipe.err" &
  _relays="$_relays $!"
  exec 8>"$_pipe.out" 9>"$_pipe.err" 2>/dev/null
else
  exec 8>&1 9>&2 2>/dev/null
fi
rm -f "$_pipe.out" "$_pipe.err"
( trap - ${SIGNALS}; eval "$_porthole" ) >&8 2>&9 8>&- 9>&-
_code=$?
printf '%s %s\\n' "$1" "$_code" >&8
printf '%s %s\\n' "$1" "$_code" >&9
exec 8>&- 9>&-
cat >/dev/null 2>&1
for _wait in 0 0.01 0.02 0.05 0.1 0.2 0.5; do
  sleep "$_wait"
  _left=
  for _relay in $_relays; do
    { read -r _ _ _state _ <"/proc/$_relay/stat"; } 2>/dev/null && [ "$_state" != Z ] && _left=yes
  done
  [ -n "$_left" ] || { wait; break; }
done
exit 0`;

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

/** Variables that are special to some shell: set before the command is started, they would change how, or end the shell. */
const SPECIAL =
  /^(?:PATH|IFS|ENV|CDPATH|PS\d|OPT(?:IND|ARG|ERR)|LINENO|PPID|E?UID|GROUPS|RANDOM|SECONDS|EPOCH\w*|SHELL\w*|BASH\w*|DIRSTACK|HIST\w*|FUNCN\w*|_\w*)$/;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * What the shell is to run. Variables are exported, because their values may be secrets, which the arguments of `env` would show to whoever lists processes on the container's machine; `env` sets only
 * those that are special to shells. Our own command comes last in its PATH.
 */
function startLines(
  { argv, cwd, env, stdin, tty }: CheckedCommand,
  base: Readonly<Record<string, string>>,
): string {
  const isPlain = (name: string) => PLAIN.test(name) && !SPECIAL.test(name);
  const entries = Object.entries({ ...base, ...env });
  const exported = entries
    .filter(([name]) => isPlain(name))
    .map(([name, value]) => `export ${name}=${quote(value)}\n`)
    .join('');
  const variables = entries.filter(([name]) => !isPlain(name)).map(([name, value]) => `${name}=${value}`);
  // Of a program whose name has an equals sign, env would make a variable.
  const program = argv[0].includes('=') ? ['sh', '-c', 'exec "$0" "$@"', ...argv] : argv;
  const words = ['env', '--', ...variables, ...program].map(quote).join(' ');
  const input = stdin || tty !== null ? '' : ' </dev/null';
  const path = `[ -z "$HOME" ] || export PATH="$PATH:$HOME/${AGENT_FOLDER}/bin"`;
  return `${path}\n${exported}${OPEN_WORKSPACE}\ncd -- ${quote(cwd)} || exit 126\nexec ${words}${input}`;
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
