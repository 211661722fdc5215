/**
 * The policies that an approval can create, from narrow to wide. `keepsPort`: for the port of the
 * call, otherwise for any port. `everyRun`: in all runs of the owner, otherwise in this run.
 */
export const POLICY_SCOPES = {
  port: { keepsPort: true, everyRun: false, covers: 'this port, for the run' },
  run: { keepsPort: false, everyRun: false, covers: 'any port of the run' },
  always: { keepsPort: false, everyRun: true, covers: 'any port of all runs of its owner' },
} as const;

export type PolicyScope = keyof typeof POLICY_SCOPES;
/** How far an approval reaches. `once` creates no policy. */
export type ApprovalScope = 'once' | PolicyScope;

export const POLICY_SCOPE_NAMES = Object.keys(POLICY_SCOPES) as readonly PolicyScope[];
export const APPROVAL_SCOPE_NAMES = ['once', ...POLICY_SCOPE_NAMES] as const;

/** What each scope covers, for callers of the API. */
export const APPROVAL_SCOPE_HELP = [
  '`once`: this call.',
  ...POLICY_SCOPE_NAMES.map((scope) => `\`${scope}\`: ${POLICY_SCOPES[scope].covers}.`),
].join(' ');

/** What a policy covers. */
interface Coverage {
  /** Null: in every run of the owner. */
  readonly runId: string | null;
  /** Null: for any port. */
  readonly targetPort: number | null;
}

/** The narrowest scope that covers the policy. */
export function scopeOf({ runId, targetPort }: Coverage): PolicyScope {
  const reaches = (scope: PolicyScope) => {
    const { keepsPort, everyRun } = POLICY_SCOPES[scope];
    return (everyRun || runId !== null) && (!keepsPort || targetPort !== null);
  };
  return POLICY_SCOPE_NAMES.find(reaches) ?? 'always';
}

/** Sort key of policies: the narrowest scope first. */
export function breadth(policy: Coverage): number {
  return POLICY_SCOPE_NAMES.indexOf(scopeOf(policy));
}
