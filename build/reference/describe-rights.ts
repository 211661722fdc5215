import {
  functionNeeds,
  lifecycleNeeds,
  type Need,
  reaperNeeds,
  snapshotsNeeds,
} from '../../infra/rbac-rules.ts';

export interface Right {
  /** `verb resource.group` */
  readonly right: string;
  readonly what: string;
  /**
   * Whether these have it: functions that create pods, functions that claim sandboxes, the reaper.
   */
  readonly pods: boolean;
  readonly claims: boolean;
  readonly reaper: boolean;
  /** Whether the lifecycle has it (of either provider): never, always, or if it archives. */
  readonly lifecycle: 'never' | 'always' | 'where it archives';
  /** Whether the clean-up of snapshots has it (of either provider). */
  readonly snapshots: boolean;
}

/** Every right of the stack's accounts, for the page that lists them. */
export function describeRights(): Right[] {
  const [pods, claims] = [functionNeeds('kubernetes'), functionNeeds('agent-sandbox')];
  return functionNeeds('auto').map((need) => {
    const isIn = (others: readonly Need[]) => others.some((other) => rightOf(other) === rightOf(need));
    return {
      right: rightOf(need),
      what: need.why,
      pods: isIn(pods),
      claims: isIn(claims),
      reaper: isIn(reaperNeeds()),
      lifecycle: isIn(lifecycleNeeds('auto', { archives: false }))
        ? 'always'
        : isIn(lifecycleNeeds('auto', { archives: true }))
          ? 'where it archives'
          : 'never',
      snapshots: isIn(snapshotsNeeds('auto')),
    };
  });
}

function rightOf({ verb, resource, group }: Need): string {
  return `${verb} ${[resource, ...(group === '' ? [] : [group])].join('.')}`;
}
