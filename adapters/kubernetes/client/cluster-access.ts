/** How an API server is reached, and as whom. Read once, but for the token, which rotates. */
export interface ClusterAccess {
  /** `https://host:port`, without a path. */
  readonly server: string;
  /** PEM of the authorities that the server's certificate may come from; without it the system's. */
  readonly ca?: string | undefined;
  /** The name that the server's certificate must bear, where it is not the server's own. */
  readonly serverName?: string | undefined;
  /** PEM of a client certificate and its key. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** The present bearer token; `refresh` when the last one has been refused. */
  readonly token?: ((refresh: boolean) => Promise<string>) | undefined;
}
