import type { StackConfig } from './stack-config-schema.ts';

/** A certificate authority that the stack's pods trust in addition to the system's. */
export interface Authority {
  /** Name of its ConfigMap. */
  readonly name: string;
  /** Its mount path in the pods. */
  readonly folder: string;
  readonly pem: string;
}

/** Its file in the folder, and its key in the ConfigMap. */
const FILE = 'ca.crt';

/** Where the authority of the database's certificate is mounted. */
export const DATABASE_FOLDER = '/etc/porthole/database';

/** The authority of the gateway's certificate; undefined if systems trust it by default. */
export function gatewayAuthority({ gateway }: StackConfig): Authority | undefined {
  const pem = gateway.probe?.ca;
  return pem === undefined
    ? undefined
    : { name: 'porthole-gateway-authority', folder: '/etc/porthole/gateway', pem };
}

/**
 * Every authority that the stack names. The database's URL refers to its file itself, by
 * `sslrootcert`.
 */
export function authorities(config: StackConfig): Authority[] {
  const gateway = gatewayAuthority(config);
  const { databaseCa } = config.functions;
  return [
    ...(gateway === undefined ? [] : [gateway]),
    ...(databaseCa === undefined
      ? []
      : [{ name: 'porthole-database-authority', folder: DATABASE_FOLDER, pem: databaseCa }]),
  ];
}

/** Its ConfigMap. */
export function authorityData({ pem }: Authority): Record<string, string> {
  return { [FILE]: pem };
}

/** Its path in the functions' pods. */
export function authorityFile({ folder }: Authority): string {
  return `${folder}/${FILE}`;
}
