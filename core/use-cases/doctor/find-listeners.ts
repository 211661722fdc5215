import type { SandboxProvider } from '../../ports/sandbox-provider.ts';
import { type Listener, readListeners } from '../../rules/doctor/listeners.ts';
import { readAtMost } from '../read-at-most.ts';

/**
 * Prints what listens, and who: the kernel's tables and the processes' open files, read with nothing but a POSIX shell, ls, head and tr. A table that is not
 * there is passed over; without any the last line is missing.
 */
const SCRIPT = `
listening=' '
known=
for table in /proc/net/tcp /proc/net/tcp6; do
  [ -r "$table" ] || continue
  known=yes
  while read -r _ at _ state _ _ _ _ _ inode _; do
    [ "$state" = 0A ] || continue
    echo "listens $at $inode"
    listening="$listening$inode "
  done <"$table"
done
[ -n "$known" ] || exit 0
[ "$listening" = ' ' ] || ls -l /proc/self/fd /proc/[0-9]*/fd 2>/dev/null | while read -r line; do
  case $line in
    /proc/[0-9]*/fd:) pid=\${line#/proc/}; pid=\${pid%/fd:} ;;
    /proc/*) pid= ;;
    *' -> socket:['*']')
      inode=\${line##*socket:[}
      inode=\${inode%]}
      case $listening in
        *" $inode "*)
          [ -n "$pid" ] && echo "holds $pid $inode $(head -c 400 "/proc/$pid/cmdline" 2>/dev/null | tr '\\0\\n' '  ')" ;;
      esac ;;
  esac
done
echo told
`;

/** A sandbox full of processes may take longer to look through; then it is not known what listens. In milliseconds. */
const PATIENCE_MS = 10_000;
/** In bytes. A hundred servers take 10 KiB. */
const MOST = 256 * 1024;

/**
 * What listens in a sandbox, by port. Undefined where that cannot be told: on systems without /proc, or when the sandbox says too much or takes too long.
 * @throws PortholeError what `exec` refuses
 */
export async function findListeners(
  { provider }: { readonly provider: Pick<SandboxProvider, 'exec'> },
  sandboxId: string,
  signal?: AbortSignal,
): Promise<readonly Listener[] | undefined> {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const until = signal === undefined ? limit : AbortSignal.any([signal, limit]);
  try {
    const process = await provider.exec(sandboxId, { argv: ['sh', '-c', SCRIPT] }, until);
    process.stderr.resume();
    const said = (await readAtMost(process.stdout, MOST))?.toString();
    if (said === undefined) process.kill('SIGKILL');
    return said?.endsWith('told\n') === true ? readListeners(said) : undefined;
  } catch (error) {
    signal?.throwIfAborted();
    if (limit.aborted) return undefined;
    throw error;
  }
}
