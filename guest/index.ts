/**
 * `@porthole/guest`: what a provider, or another client of the guest, needs of its protocol. The
 * routes are in `docs/reference/guest.md`.
 */
export * from '../protocol/guest/answers.ts';
export * from '../protocol/guest/details-protocol.ts';
export * from '../protocol/guest/exec-protocol.ts';
export * from '../protocol/guest/files-protocol.ts';
export * from '../protocol/guest/guest-pod.ts';
export * from '../protocol/guest/http-protocol.ts';
export * from '../protocol/guest/network.ts';
export * from '../protocol/guest/ports-protocol.ts';
export * from '../protocol/guest/previews-protocol.ts';
export * from '../protocol/guest/processes-protocol.ts';
export * from '../protocol/guest/runs-protocol.ts';
export * from '../protocol/guest/servers-protocol.ts';
export * from '../protocol/guest/settings-protocol.ts';
