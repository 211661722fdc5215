/** `@porthole/constructs`: the objects of Porthole as cdk8s constructs. */
export type { SandboxTemplateProps, WarmPoolProps } from './agent-sandbox-manifests.ts';
export type { GatewayReference, PreviewGatewayProps } from './gateway-manifests.ts';
export { PortRangePolicy, type PortRangePolicyProps } from './port-range-policy.ts';
export { PreviewGateway } from './preview-gateway-construct.ts';
export { Preview, type PreviewProps } from './preview-objects.ts';
export { SandboxClaim, type SandboxClaimProps } from './sandbox-claim.ts';
export { SandboxPod, type SandboxPodProps } from './sandbox-pod.ts';
export { SandboxTemplate, WarmPool } from './sandbox-template.ts';
