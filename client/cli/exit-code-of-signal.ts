/** POSIX signals by their Linux numbers: this machine may be no Linux, but the sandbox is. */
const NAMES =
  'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'.split(
    ' ',
  );

/** As shells have it. Real-time signals have no names: they are `SIG34` to `SIG64`. */
export function exitCodeOfSignal(name: string): number {
  const short = name.slice('SIG'.length);
  const known = NAMES.indexOf(short) + 1;
  return 128 + (known > 0 ? known : Number(short));
}
