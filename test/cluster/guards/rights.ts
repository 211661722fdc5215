/** Scope of a row: a namespace of the stack, a foreign one, or the cluster as a whole. */
export type Where = 'previews' | 'gateway' | 'functions' | 'kube-system' | 'everywhere';
/** `name`: of the only object concerned. */
export type Row = readonly [verbs: string, resource: string, where: Where, name?: string];

const EVERY_VERB = 'get list watch create update patch delete deletecollection';
const ROUTES = 'httproutes.gateway.networking.k8s.io';
const CLAIMS = 'sandboxclaims.extensions.agents.x-k8s.io';
const SANDBOXES = 'sandboxes.agents.x-k8s.io';

const POOLS = 'sandboxwarmpools.extensions.agents.x-k8s.io';

/** Rights to open, keep and close previews. */
const PREVIEWS: Row[] = [
  ['get list create patch delete', ROUTES, 'previews'],
  ['get list create patch delete', 'services', 'previews'],
];

/** Pods, and actions inside them. */
const WORKLOADS: Row[] = [
  [EVERY_VERB, 'pods', 'previews'],
  [EVERY_VERB, 'persistentvolumeclaims', 'previews'],
  [EVERY_VERB, CLAIMS, 'previews'],
  [EVERY_VERB, SANDBOXES, 'previews'],
];
const EVERYTHING: Row[] = [
  [EVERY_VERB, ROUTES, 'previews'],
  [EVERY_VERB, 'services', 'previews'],
  ...WORKLOADS,
];

/**
 * The accounts, and the rights of each; a right that only some have is explicitly refused to the
 * others.
 */
export const ACCOUNTS = {
  'functions that make pods': {
    may: [
      ...PREVIEWS,
      ['get list watch create delete', 'pods', 'previews'],
      ['get list watch create delete', 'persistentvolumeclaims', 'previews'],
      ['get', 'resourcequotas', 'previews', 'porthole-sandboxes'],
    ],
    mayNot: [
      [EVERY_VERB, CLAIMS, 'previews'],
      [EVERY_VERB, SANDBOXES, 'previews'],
    ],
  },
  'functions that claim sandboxes': {
    may: [
      ...PREVIEWS,
      ['get watch', 'pods', 'previews'],
      ['get list watch create delete', CLAIMS, 'previews'],
      ['get watch patch', SANDBOXES, 'previews'],
      ['get', 'resourcequotas', 'previews', 'porthole-sandboxes'],
      ['get', POOLS, 'previews', 'cold'],
      ['patch', `${POOLS}/scale`, 'previews', 'cold'],
    ],
    mayNot: [
      ['get', POOLS, 'previews', 'other'],
      ['patch', `${POOLS}/scale`, 'previews', 'other'],
      ['list watch create update patch delete', POOLS, 'previews', 'cold'],
      ['get update', `${POOLS}/scale`, 'previews', 'cold'],
      ['get update patch', `${POOLS}/status`, 'previews', 'cold'],
      ['list create delete', 'pods', 'previews'],
      [EVERY_VERB, 'persistentvolumeclaims', 'previews'],
    ],
  },
  reaper: {
    may: [
      ['get list delete', ROUTES, 'previews'],
      ['get list delete', 'services', 'previews'],
    ],
    mayNot: [['create patch', ROUTES, 'previews'], ['create patch', 'services', 'previews'], ...WORKLOADS],
  },
  'the lifecycle where functions make pods': {
    may: [
      ['get list patch delete', ROUTES, 'previews'],
      ['get list delete', 'services', 'previews'],
      ['get list watch delete', 'pods', 'previews'],
      ['get list watch delete', 'persistentvolumeclaims', 'previews'],
    ],
    mayNot: [
      ['create', ROUTES, 'previews'],
      ['create', 'pods', 'previews'],
      ['create', 'persistentvolumeclaims', 'previews'],
      [EVERY_VERB, CLAIMS, 'previews'],
      [EVERY_VERB, SANDBOXES, 'previews'],
    ],
  },
  'the lifecycle where functions claim sandboxes': {
    may: [
      ['get list patch delete', ROUTES, 'previews'],
      ['get list delete', 'services', 'previews'],
      ['get watch', 'pods', 'previews'],
      ['get list watch delete', CLAIMS, 'previews'],
      ['get watch patch', SANDBOXES, 'previews'],
    ],
    mayNot: [
      ['list create delete', 'pods', 'previews'],
      [EVERY_VERB, 'persistentvolumeclaims', 'previews'],
      ['create', CLAIMS, 'previews'],
    ],
  },
  'the lifecycle that archives where functions make pods': {
    may: [
      ['get list patch delete', ROUTES, 'previews'],
      ['get list delete', 'services', 'previews'],
      ['get list watch create delete', 'pods', 'previews'],
      ['get list watch delete', 'persistentvolumeclaims', 'previews'],
    ],
    mayNot: [
      ['create', ROUTES, 'previews'],
      ['create', 'persistentvolumeclaims', 'previews'],
      [EVERY_VERB, CLAIMS, 'previews'],
      [EVERY_VERB, SANDBOXES, 'previews'],
    ],
  },
  'the lifecycle that archives where functions claim sandboxes': {
    may: [
      ['get list patch delete', ROUTES, 'previews'],
      ['get list delete', 'services', 'previews'],
      ['get watch', 'pods', 'previews'],
      ['get list watch delete', CLAIMS, 'previews'],
      ['get watch patch', SANDBOXES, 'previews'],
    ],
    mayNot: [
      ['list create delete', 'pods', 'previews'],
      [EVERY_VERB, 'persistentvolumeclaims', 'previews'],
      ['create', CLAIMS, 'previews'],
    ],
  },
  'the clean-up of snapshots where functions make pods': {
    may: [
      ['get watch delete', 'pods', 'previews'],
      ['get watch delete', 'persistentvolumeclaims', 'previews'],
    ],
    mayNot: [
      [EVERY_VERB, ROUTES, 'previews'],
      [EVERY_VERB, 'services', 'previews'],
      ['list create patch', 'pods', 'previews'],
      ['list create patch', 'persistentvolumeclaims', 'previews'],
      [EVERY_VERB, CLAIMS, 'previews'],
      [EVERY_VERB, SANDBOXES, 'previews'],
    ],
  },
  'the clean-up of snapshots where functions claim sandboxes': {
    may: [
      ['get watch', 'pods', 'previews'],
      ['get watch delete', CLAIMS, 'previews'],
      ['get watch', SANDBOXES, 'previews'],
    ],
    mayNot: [
      [EVERY_VERB, ROUTES, 'previews'],
      ['list create delete', 'pods', 'previews'],
      [EVERY_VERB, 'persistentvolumeclaims', 'previews'],
      ['list create', CLAIMS, 'previews'],
      ['patch', SANDBOXES, 'previews'],
    ],
  },
  'whatever else runs beside the functions': { may: [], mayNot: EVERYTHING },
  'a sandbox, if it had a token': { may: [], mayNot: EVERYTHING },
} satisfies Record<string, { may: Row[]; mayNot: Row[] }>;

export type Who = keyof typeof ACCOUNTS;

/** No account may do any of this. */
export const REFUSED: Row[] = [
  ['* get create', '*.*', 'previews'],
  ['* get create', '*.*', 'everywhere'],
  // The API's route and Service, and all foreign ones.
  [EVERY_VERB, ROUTES, 'functions'],
  [EVERY_VERB, 'services', 'functions'],
  [EVERY_VERB, ROUTES, 'kube-system'],
  [EVERY_VERB, ROUTES, 'everywhere'],
  ['watch update deletecollection', ROUTES, 'previews'],
  ['watch update deletecollection', 'services', 'previews'],
  ['get update patch', `${ROUTES}/status`, 'previews'],
  ['get update patch', 'services/status', 'previews'],
  ['get create update delete', 'services/proxy', 'previews'],
  [EVERY_VERB, 'gateways.gateway.networking.k8s.io', 'previews'],
  [EVERY_VERB, 'gateways.gateway.networking.k8s.io', 'gateway'],
  [EVERY_VERB, 'gateways.gateway.networking.k8s.io', 'functions'],
  [EVERY_VERB, 'gatewayclasses.gateway.networking.k8s.io', 'everywhere'],
  [EVERY_VERB, 'referencegrants.gateway.networking.k8s.io', 'functions'],
  [EVERY_VERB, 'grpcroutes.gateway.networking.k8s.io', 'previews'],
  [EVERY_VERB, 'pods', 'functions'],
  [EVERY_VERB, 'pods', 'kube-system'],
  [EVERY_VERB, 'pods', 'everywhere'],
  ['update patch deletecollection', 'pods', 'previews'],
  ['get create', 'pods/attach', 'previews'],
  ['get update patch', 'pods/ephemeralcontainers', 'previews'],
  ['get', 'pods/log', 'previews'],
  ['get create', 'pods/proxy', 'previews'],
  ['get update patch', 'pods/status', 'previews'],
  ['get update patch', 'pods/resize', 'previews'],
  ['create', 'pods/binding', 'previews'],
  ['create', 'pods/eviction', 'previews'],
  ['get create', 'pods/exec', 'previews'],
  ['get create', 'pods/portforward', 'previews'],
  ['get create', 'pods/exec', 'functions'],
  ['get create', 'pods/exec', 'kube-system'],
  ['get create', 'pods/portforward', 'functions'],
  ['update patch deletecollection', 'persistentvolumeclaims', 'previews'],
  [EVERY_VERB, 'persistentvolumeclaims', 'functions'],
  [EVERY_VERB, 'persistentvolumes', 'everywhere'],
  ['update patch deletecollection', CLAIMS, 'previews'],
  [EVERY_VERB, CLAIMS, 'functions'],
  ['list create update delete deletecollection', SANDBOXES, 'previews'],
  ['update patch', `${SANDBOXES}/status`, 'previews'],
  [EVERY_VERB, 'sandboxtemplates.extensions.agents.x-k8s.io', 'previews'],
  [EVERY_VERB, POOLS, 'previews'],
  ['get update patch', `${POOLS}/scale`, 'previews'],
  [EVERY_VERB, 'secrets', 'previews'],
  [EVERY_VERB, 'secrets', 'gateway'],
  [EVERY_VERB, 'secrets', 'functions'],
  [EVERY_VERB, 'secrets', 'kube-system'],
  [EVERY_VERB, 'configmaps', 'previews'],
  [EVERY_VERB, 'configmaps', 'functions'],
  [`${EVERY_VERB} impersonate`, 'serviceaccounts', 'previews'],
  [`${EVERY_VERB} impersonate`, 'serviceaccounts', 'functions'],
  ['create', 'serviceaccounts/token', 'previews'],
  ['create', 'serviceaccounts/token', 'functions'],
  ['impersonate', 'users', 'everywhere'],
  ['impersonate', 'groups', 'everywhere'],
  [EVERY_VERB, 'events', 'previews'],
  [EVERY_VERB, 'endpoints', 'previews'],
  [EVERY_VERB, 'endpointslices.discovery.k8s.io', 'previews'],
  [EVERY_VERB, 'networkpolicies.networking.k8s.io', 'previews'],
  [EVERY_VERB, 'ingresses.networking.k8s.io', 'previews'],
  [EVERY_VERB, 'resourcequotas', 'previews'],
  [EVERY_VERB, 'limitranges', 'previews'],
  [EVERY_VERB, 'deployments.apps', 'previews'],
  [EVERY_VERB, 'deployments.apps', 'functions'],
  [EVERY_VERB, 'jobs.batch', 'previews'],
  [EVERY_VERB, 'cronjobs.batch', 'functions'],
  [`${EVERY_VERB} bind escalate`, 'roles.rbac.authorization.k8s.io', 'previews'],
  [EVERY_VERB, 'rolebindings.rbac.authorization.k8s.io', 'previews'],
  [`${EVERY_VERB} bind escalate`, 'clusterroles.rbac.authorization.k8s.io', 'everywhere'],
  [EVERY_VERB, 'clusterrolebindings.rbac.authorization.k8s.io', 'everywhere'],
  [EVERY_VERB, 'validatingadmissionpolicies.admissionregistration.k8s.io', 'everywhere'],
  [EVERY_VERB, 'validatingadmissionpolicybindings.admissionregistration.k8s.io', 'everywhere'],
  [EVERY_VERB, 'mutatingwebhookconfigurations.admissionregistration.k8s.io', 'everywhere'],
  [EVERY_VERB, 'customresourcedefinitions.apiextensions.k8s.io', 'everywhere'],
  [EVERY_VERB, 'apiservices.apiregistration.k8s.io', 'everywhere'],
  [EVERY_VERB, 'certificatesigningrequests.certificates.k8s.io', 'everywhere'],
  [EVERY_VERB, 'storageclasses.storage.k8s.io', 'everywhere'],
  [EVERY_VERB, 'namespaces', 'everywhere'],
  [EVERY_VERB, 'nodes', 'everywhere'],
  ['get create', 'nodes/proxy', 'everywhere'],
];
