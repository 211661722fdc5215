/**
 * `@porthole/guest`: what a provider, or another client of the guest, needs of its protocol. The
 * routes are in `docs/guest.md`.
 */
export * from './protocol/answers.ts';
export * from './protocol/details-protocol.ts';
export * from './protocol/exec-protocol.ts';
export * from './protocol/files-protocol.ts';
export * from './protocol/guest-pod.ts';
export * from './protocol/http-protocol.ts';
export * from './protocol/network.ts';
export * from './protocol/ports-protocol.ts';
export * from './protocol/previews-protocol.ts';
export * from './protocol/processes-protocol.ts';
export * from './protocol/runs-protocol.ts';
export * from './protocol/servers-protocol.ts';
export * from './protocol/settings-protocol.ts';
export * from './protocol/web-socket-protocol.ts';
