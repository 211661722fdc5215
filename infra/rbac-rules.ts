import { SANDBOX_QUOTA } from '../constructs/names.ts';
import type { sandboxProvider } from './sandbox-provider.plan.ts';

/** A right of a service account in the previews' namespace, and the work that fails without it. */
export interface Need {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  /** Name of the only object that it applies to. */
  readonly name?: string | undefined;
  readonly why: string;
}

type Provider = ReturnType<typeof sandboxProvider>;

const GATEWAY_API = 'gateway.networking.k8s.io';
const CLAIMS_API = 'extensions.agents.x-k8s.io';
const SANDBOXES_API = 'agents.x-k8s.io';

/** Both the functions and the reaper end previews. */
const ENDING = [
  ...needs(GATEWAY_API, 'httproutes', {
    get: 'find a preview by its name; look whether a Service bears a route before it is swept',
    list: 'list previews',
    delete: 'close a preview',
  }),
  ...needs('', 'services', {
    get: 'remove the Service of a closed preview that another client has changed',
    list: 'sweep what a crash left half-made',
    delete: 'remove the Service of a closed preview',
  }),
];

const PREVIEWS = [
  ...ENDING,
  ...needs(GATEWAY_API, 'httproutes', {
    create: 'open a preview',
    patch: 'keep a preview alive, or name it; detach it while its sandbox is stopped',
  }),
  ...needs('', 'services', {
    list: 'count the starts of a run that are under way; sweep what a crash left half-made',
    get: 'find the creator of a conflicting Service',
    create: 'open a preview',
    patch: 'claim the Service that another start has left behind',
  }),
];

/** To stop and destroy sandboxes, and to find orphans. */
const ENDING_PODS = [
  ...needs('', 'pods', {
    get: 'find the pod of a sandbox',
    list: 'list sandboxes',
    watch: 'wait until a pod runs, or has gone',
    delete: 'stop a sandbox',
  }),
  ...needs('', 'persistentvolumeclaims', {
    get: 'tell a stopped sandbox from none',
    list: 'list sandboxes',
    watch: 'wait until the volume of a destroyed sandbox has gone',
    delete: 'destroy a sandbox',
  }),
];

const STARTING_PODS = needs('', 'pods', { create: 'start a sandbox' });

const PODS = [
  ...ENDING_PODS,
  ...STARTING_PODS,
  ...needs('', 'persistentvolumeclaims', { create: 'create a sandbox' }),
];

const ENDING_CLAIMS = [
  ...needs('', 'pods', {
    get: 'find the pod of a sandbox',
    watch: 'wait until a pod runs, or has gone',
  }),
  ...needs(CLAIMS_API, 'sandboxclaims', {
    get: 'find a sandbox',
    list: 'list sandboxes',
    watch: 'wait until a claim is bound, or has gone',
    delete: 'destroy a sandbox',
  }),
  ...needs(SANDBOXES_API, 'sandboxes', {
    get: 'find the pod of a claim',
    watch: 'wait until a sandbox is ready, or has gone',
    patch: 'stop a sandbox, and resume it',
  }),
];

const CLAIMS = [...ENDING_CLAIMS, ...needs(CLAIMS_API, 'sandboxclaims', { create: 'create a sandbox' })];

/** Rights on the pool that claims use, to read and scale it; none on other pools. */
const POOL = [
  ...needs(CLAIMS_API, 'sandboxwarmpools', { get: 'say how many sandboxes are ready' }),
  ...needs(CLAIMS_API, 'sandboxwarmpools/scale', { patch: 'say how many sandboxes are to be kept ready' }),
];

const QUOTA = needs('', 'resourcequotas', { get: 'say how much of the quota of sandboxes is used' });

/**
 * The functions' rights, least privilege: one for each kind of call that the adapters make. They
 * never read a Secret or a ConfigMap, change no pod, and do not exec through the API server: guests
 * are called at their pods' addresses. With agent-sandbox they cannot create pods.
 * @param warmPool the pool of sandboxes that ask for no image
 */
export function functionNeeds(provider: Provider, warmPool?: string): readonly Need[] {
  return merged([
    ...PREVIEWS,
    ...QUOTA.map((need) => ({ ...need, name: SANDBOX_QUOTA })),
    ...(provider === 'agent-sandbox' ? [] : PODS),
    ...(provider === 'kubernetes' ? [] : [...CLAIMS, ...POOL.map((need) => ({ ...need, name: warmPool }))]),
  ]);
}

/** The broker asks the API server whether a connection comes from the pod of its sandbox. */
export function brokerNeeds(): readonly Need[] {
  return needs('', 'pods', { get: 'tell from which sandbox a connection comes' });
}

/** The reaper reads previews and records and deletes previews; it creates and updates nothing. */
export function reaperNeeds(): readonly Need[] {
  return merged(ENDING);
}

/**
 * The lifecycle stops and destroys sandboxes, and with them their previews; it creates nothing. If
 * it archives, it starts a stopped sandbox, so that its guest can read the files: claims resume by
 * the same patch that stops them, pods are created.
 */
export function lifecycleNeeds(
  provider: Provider,
  { archives }: { readonly archives: boolean },
): readonly Need[] {
  return merged([
    ...ENDING,
    ...needs(GATEWAY_API, 'httproutes', { patch: 'detach the previews of a sandbox that it stops' }),
    ...(provider === 'agent-sandbox' ? [] : ENDING_PODS),
    ...(provider === 'agent-sandbox' || !archives ? [] : STARTING_PODS),
    ...(provider === 'kubernetes' ? [] : ENDING_CLAIMS),
  ]);
}

/**
 * The clean-up of the editor's snapshots destroys only the sandboxes in the records, which have no
 * previews. It lists no others.
 */
export function snapshotsNeeds(provider: Provider): readonly Need[] {
  const ending = [
    ...(provider === 'agent-sandbox' ? [] : ENDING_PODS),
    ...(provider === 'kubernetes' ? [] : ENDING_CLAIMS),
  ];
  return merged(ending.filter(({ verb }) => verb !== 'list' && verb !== 'patch'));
}

function needs(group: string, resource: string, verbs: Readonly<Record<string, string>>): Need[] {
  return Object.entries(verbs).map(([verb, why]) => ({ group, resource, verb, why }));
}

const VERBS = ['get', 'list', 'watch', 'create', 'patch', 'delete'];

/** Without duplicates, grouped by resource. */
function merged(all: readonly Need[]): readonly Need[] {
  const key = ({ group, resource }: Need) => `${resource}.${group}`;
  const byRight = new Map(all.map((need) => [`${key(need)} ${need.verb}`, need]));
  const order = [...new Set(all.map(key))];
  return [...byRight.values()].toSorted(
    (a, b) => order.indexOf(key(a)) - order.indexOf(key(b)) || VERBS.indexOf(a.verb) - VERBS.indexOf(b.verb),
  );
}

/** The rules of a role that grants these rights, one a resource. */
export function rulesOf(all: readonly Need[]) {
  const grouped = Map.groupBy(all, ({ group, resource }) => `${resource}.${group}`);
  return [...grouped.values()].map((same) => ({
    apiGroups: [same[0]?.group ?? ''],
    resources: [same[0]?.resource ?? ''],
    ...(same[0]?.name !== undefined && { resourceNames: [same[0].name] }),
    verbs: same.map(({ verb }) => verb),
  }));
}
