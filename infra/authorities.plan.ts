import type { StackConfig } from './stack-config-schema.ts';

/** Certificates that the pods of the stack trust besides those that every system knows. */
export interface Authority {
  /** Of the ConfigMap that holds it. */
  readonly name: string;
  /** Where the pods see it. */
  readonly folder: string;
  readonly pem: string;
}

/** Its file in the folder, and its key in the ConfigMap. */
const FILE = 'ca.crt';

/** The authority behind the gateway's certificate; undefined where every system knows it. */
export function gatewayAuthority({ gateway }: Pick<StackConfig, 'gateway'>): Authority | undefined {
  const pem = gateway.probe?.ca;
  return pem === undefined
    ? undefined
    : { name: 'porthole-gateway-authority', folder: '/etc/porthole/gateway', pem };
}

/**
 * Every authority that the stack names. The database's URL refers to its file itself, by
 * `sslrootcert`.
 */
export function authorities(config: Pick<StackConfig, 'gateway' | 'functions'>): Authority[] {
  const gateway = gatewayAuthority(config);
  const { databaseCa } = config.functions;
  return [
    ...(gateway === undefined ? [] : [gateway]),
    ...(databaseCa === undefined
      ? []
      : [{ name: 'porthole-database-authority', folder: '/etc/porthole/database', pem: databaseCa }]),
  ];
}

/** What its ConfigMap holds. */
export function authorityData({ pem }: Authority): Record<string, string> {
  return { [FILE]: pem };
}

/** Where the functions read it. */
export function authorityFile({ folder }: Authority): string {
  return `${folder}/${FILE}`;
}
