import { hasTemplate, isCronJob, isPod, isSandbox, isSandboxTemplate } from './kinds.ts';

/** Of a pod or a container; a container's override the pod's. */
interface Profiles {
  readonly seccompProfile?: { readonly type?: string };
  readonly appArmorProfile?: { readonly type?: string };
}

export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly hostPort?: number }[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string>> };
  readonly securityContext?: Profiles & {
    readonly privileged?: boolean;
    readonly procMount?: string;
    readonly allowPrivilegeEscalation?: boolean;
    readonly runAsNonRoot?: boolean;
    readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  };
}

export interface PodSpec {
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly automountServiceAccountToken?: boolean;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly hostUsers?: boolean;
  readonly runtimeClassName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly tolerations?: readonly { readonly key?: string }[];
  readonly volumes?: readonly { readonly name: string; readonly hostPath?: object }[];
  readonly securityContext?: Profiles & { readonly runAsNonRoot?: boolean };
}

interface Holder {
  readonly spec?: PodSpec & {
    readonly template?: Holder;
    readonly jobTemplate?: Holder;
    readonly podTemplate?: Holder;
  };
}

/** The pod that a resource is, or makes others from; undefined for everything else. */
export function podSpecOf(type: string, props: object): PodSpec | undefined {
  const { spec } = props as Holder;
  if (isPod(type)) return spec;
  if (hasTemplate(type)) return spec?.template?.spec;
  if (isCronJob(type)) return spec?.jobTemplate?.spec?.template?.spec;
  return sandboxSpecOf(type, props);
}

/** The pod of a sandbox; undefined for everything else. */
export function sandboxSpecOf(type: string, props: object): PodSpec | undefined {
  if (!isSandboxTemplate(type) && !isSandbox(type)) return undefined;
  return (props as Holder).spec?.podTemplate?.spec;
}

export function containersOf(pod: PodSpec): readonly Container[] {
  return [...(pod.initContainers ?? []), ...(pod.containers ?? [])];
}
