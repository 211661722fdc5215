/** POSIX signals by their Linux numbers, the first of which is 1, as on x86-64 and arm64. */
const NAMES = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGILL',
  'SIGTRAP',
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGKILL',
  'SIGUSR1',
  'SIGSEGV',
  'SIGUSR2',
  'SIGPIPE',
  'SIGALRM',
  'SIGTERM',
  'SIGSTKFLT',
  'SIGCHLD',
  'SIGCONT',
  'SIGSTOP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGXCPU',
  'SIGXFSZ',
  'SIGVTALRM',
  'SIGPROF',
  'SIGWINCH',
  'SIGIO',
  'SIGPWR',
  'SIGSYS',
] as const;

/** Real-time signals have no names: they are `SIG34` to `SIG64`. */
const UNNAMED = /^SIG(\d{1,2})$/;

export function signalName(number: number): string {
  return NAMES[number - 1] ?? `SIG${number}`;
}

/** The exit code of a shell for a program that a signal ended. */
export function exitCodeOfSignal(name: string): number {
  const known = (NAMES as readonly string[]).indexOf(name) + 1;
  return 128 + (known > 0 ? known : Number(UNNAMED.exec(name)?.[1] ?? 0));
}
