/**
 * Domain of our labels and annotations. Below `sandbox.users.io`, because agent-sandbox lets a
 * claim put only labels of that domain (and of those below it) on its pod.
 */
export const DOMAIN = 'porthole.sandbox.users.io';

export const LABELS = {
  managedBy: 'app.kubernetes.io/managed-by',
  component: 'app.kubernetes.io/component',
  /** On every sandbox's pod, claimed or waiting in a pool: `sandbox`. */
  role: `${DOMAIN}/role`,
  /** On a sandbox's pod, what the Service of its previews selects; and on the previews' routes. */
  sandbox: `${DOMAIN}/sandbox`,
  /** On a sandbox's pod that may reach the internet: `internet`. */
  network: `${DOMAIN}/network`,
  /** On a preview: its run. */
  run: `${DOMAIN}/run`,
  /** On a preview's Service and route: the user that owns its run. */
  owner: `${DOMAIN}/owner`,
  /** On a preview: the two minutes in which its expiry falls. */
  dueSlot: `${DOMAIN}/due-slot`,
  /** On a preview's Service and route: the two minutes in which they were made. */
  madeSlot: `${DOMAIN}/made-slot`,
  /** On the claim of a zone: the namespace of the functions that serve it. */
  installation: `${DOMAIN}/installation`,
} as const;

/** Every sandbox pod, whether Porthole or an operator makes it: what network policies select. */
export const SANDBOX_POD_LABELS = { [LABELS.role]: 'sandbox' } as const;
