/** A taint that a pod tolerates, as in a PodSpec. */
export interface Toleration {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
  readonly tolerationSeconds?: number | undefined;
}

/** Where the scheduler puts a pod, and under which classes it runs; each field as in a PodSpec. */
export interface PodPlacement {
  /**
   * Labels of the nodes that it runs on.
   * @default - any node
   */
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  /** Taints that the pod tolerates, besides those that Kubernetes adds. @default - none */
  readonly tolerations?: Toleration[] | undefined;
  /** @default - none */
  readonly affinity?: object | undefined;
  /** @default - as the scheduler spreads pods */
  readonly topologySpreadConstraints?: readonly object[] | undefined;
  /**
   * PriorityClass, which must exist.
   * @default - the cluster's default
   */
  readonly priorityClassName?: string | undefined;
  /**
   * RuntimeClass of stronger isolation, e.g. gvisor; it must exist.
   * @default - the cluster's default runtime
   */
  readonly runtimeClassName?: string | undefined;
}

const FIELDS = [
  'nodeSelector',
  'tolerations',
  'affinity',
  'topologySpreadConstraints',
  'priorityClassName',
  'runtimeClassName',
] as const satisfies (keyof PodPlacement)[];

/**
 * The fields of a PodSpec that are set. Empty ones are left out, because the API server does not
 * store them: an update would see a difference for ever.
 */
export function placementFields<P extends PodPlacement>(
  placement: P,
): Partial<Pick<P, keyof P & (typeof FIELDS)[number]>> {
  return Object.fromEntries(
    FIELDS.map((field) => [field, placement[field]] as const).filter(
      ([, value]) => Object.keys(value ?? {}).length > 0,
    ),
  ) as Partial<P>;
}
