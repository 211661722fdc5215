/** `@porthole/constructs`: the objects of Porthole as cdk8s constructs. */
export { Preview, type PreviewGateway, type PreviewProps } from './preview-objects.ts';
export { SandboxClaim, type SandboxClaimProps } from './sandbox-claim.ts';
export { SandboxPod, type SandboxPodProps } from './sandbox-pod.ts';
