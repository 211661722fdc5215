import { existsSync, readFileSync } from 'node:fs';

const PERL = '/usr/bin/perl';

/** Numbers of system calls that neither a shell nor Node can make. */
const NUMBERS: Readonly<Partial<Record<NodeJS.Architecture, { keyctl: number; prctl: number }>>> = {
  x64: { keyctl: 250, prctl: 157 },
  arm64: { keyctl: 219, prctl: 167 },
};

/**
 * KEYCTL_JOIN_SESSION_KEYRING without a name: a new one. It fails where the user has no room for
 * keys; the filter refuses keyctl anyway.
 */
const JOIN = 'syscall(0 + shift, 1, 0);';

/** PR_SET_SECCOMP with the filter on descriptor 5. */
const FILTER = `my $prctl = shift; open my $in, "<&=", 5 or die; local $/; my $filter = <$in>; close $in;
syscall(0 + $prctl, 22, 2, pack("S x6 P", length($filter) / 8, $filter)) == 0 or die "no seccomp filter: $!\\n";`;

const RUN = 'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"';

/**
 * Starts `command` with a new session keyring. The kernel hands a login's session keyring on
 * through user namespaces, with all rights of its possessor. Returns `command` unchanged if this
 * machine has no Perl.
 */
export function withNewKeyring(command: readonly string[]): string[] {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined || !existsSync(PERL)) return [...command];
  return [PERL, '-e', `${JOIN}${RUN}`, String(numbers.keyctl), ...command];
}

/** The same, with the system call filter on descriptor 5. Undefined if this machine has no Perl. */
export function withKeyringAndFilter(command: readonly string[]): string[] | undefined {
  const numbers = NUMBERS[process.arch];
  if (numbers === undefined || !existsSync(PERL)) return undefined;
  return [PERL, '-e', `${JOIN}${FILTER}${RUN}`, String(numbers.keyctl), String(numbers.prctl), ...command];
}

/**
 * Shell: limits inotify for its user namespace and all below it to a share of the host user's
 * limit, because the kernel counts all sandboxes of an ordinary user together. Where /proc/sys is
 * read-only, the limits stay unchanged.
 */
export function boundInotify(): string {
  const part = (name: string, divisor: number): string => {
    const file = `/proc/sys/fs/inotify/max_user_${name}`;
    if (!existsSync(file)) return '';
    const value = Math.floor(Number(readFileSync(file, 'utf8')) / divisor);
    return `echo ${value} 2>/dev/null >/proc/sys/user/max_inotify_${name}\n`;
  };
  return `${part('instances', 4)}${part('watches', 2)}`;
}
