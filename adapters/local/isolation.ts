import { setImmediate } from 'node:timers/promises';
import { findCallsAddon } from '#base/foreign-calls.ts';
import { launchBubblewrap } from './launch-bubblewrap.ts';
import { launchGvisor } from './launch-gvisor.ts';
import { launchUnshare } from './launch-unshare.ts';
import type { Launcher } from './launch.ts';
import { systemCallFilter } from './system-call-filter.ts';

/** No isolation: the command runs with the host's rights. */
const launchPlain: Launcher = ({ command }) => ({ argv: [...command] });

export type IsolationKind = 'bubblewrap' | 'unshare' | 'gvisor' | 'none';

export const LAUNCHERS: Readonly<Record<IsolationKind, Launcher>> = {
  bubblewrap: launchBubblewrap,
  unshare: launchUnshare,
  gvisor: launchGvisor,
  none: launchPlain,
};

/** Isolations that depend on installed programs. */
export type TriedIsolation = Exclude<IsolationKind, 'none'>;

export interface Isolation {
  readonly isolation: IsolationKind;
  /** For the log at start and for GET /health; empty when sandboxes are isolated. */
  readonly warnings: readonly string[];
}

/**
 * What keeps code inside from the machine's kernel: a system call filter that the launcher sets, or
 * gVisor. If a launcher cannot set its filter, it starts nothing. Null: nothing.
 */
export function systemCallsBehind(isolation: IsolationKind): string | null {
  if (isolation === 'gvisor') return 'gVisor';
  if (isolation === 'none' || systemCallFilter(process.arch) === undefined) return null;
  return isolation === 'bubblewrap' || findCallsAddon() !== undefined ? 'seccomp filter' : null;
}

const NOT_FILTERED =
  'System calls of sandboxes are NOT filtered: code inside can use the kernel keys of the user who started Porthole, exchange data ' +
  'with other sandboxes through them, and make sockets to the hypervisor of a virtual machine. ' +
  'Install bubblewrap (apt-get install bubblewrap), or Porthole with its optional packages. The filter is written for x64 and arm64.';

const NOT_ISOLATED =
  'Sandboxes are NOT isolated: commands run as ordinary child processes. They can read and write every file that this user can, ' +
  'see all processes, and reach every port of this machine, the Porthole API among them. Run only code that you trust. ';

/**
 * The strongest isolation that works here, found by trying: `attempt` resolves to undefined on
 * success, or to the reason of the failure. `filters` is replaced in tests.
 */
export async function findIsolation(
  attempt: (kind: TriedIsolation) => Promise<string | undefined>,
  filters: (kind: IsolationKind) => boolean = (kind) => systemCallsBehind(kind) !== null,
): Promise<Isolation> {
  if (process.platform !== 'linux') {
    return { isolation: 'none', warnings: [`${NOT_ISOLATED}Isolation needs Linux.`] };
  }
  // Lets the host start first.
  await setImmediate();
  const reasons: string[] = [];
  for (const kind of ['bubblewrap', 'unshare'] as const) {
    const reason = await attempt(kind);
    if (reason === undefined) return { isolation: kind, warnings: filters(kind) ? [] : [NOT_FILTERED] };
    reasons.push(`${kind}: ${reason}`);
  }
  const remedy = 'Install bubblewrap (apt-get install bubblewrap) and allow unprivileged user namespaces.';
  return { isolation: 'none', warnings: [`${NOT_ISOLATED}${remedy} What was tried: ${reasons.join('; ')}`] };
}

/** Warnings of a host that is configured to run without isolation. */
export function withoutIsolation(): Isolation {
  return { isolation: 'none', warnings: [`${NOT_ISOLATED}It was switched off.`] };
}
