/** Where things are in the network of a sandbox. */
export const EGRESS = {
  device: 'tap0',
  address: '10.0.2.100',
  prefix: 24,
  gateway: '10.0.2.2',
  /** Stands for the name server of the machine. */
  nameServer: '10.0.2.3',
} as const;
