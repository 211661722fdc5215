/** The `Sandbox:Preview` section, under the reference's own names in lower camel case. */
export interface PreviewOptions {
  readonly enabled: boolean;
  /** Previews are `{token}-preview.{zoneSuffix}`. */
  readonly zoneSuffix: string;
  readonly gatewayName: string;
  readonly gatewayNamespace: string;
  readonly namespace: string;
  /**
   * In a cluster, where a preview's Service leads: to the guest, which proxies to the app on loopback; or to the app's
   * own port, which must then listen on the pod's address.
   */
  readonly upstream: 'guest' | 'direct';
  readonly idleTimeoutMinutes: number;
  readonly maxLifetimeHours: number;
  readonly keepAfterRun: boolean;
  readonly allowedPortMin: number;
  readonly allowedPortMax: number;
  readonly autoApprove: boolean;
  /** Live previews a run may have. */
  readonly maxPerRun: number;
  /** Live previews of everybody together. */
  readonly maxTotal: number;
  readonly readyTimeoutSeconds: number;
}
