/** What only Node can do: syncing folders, and WebSockets before Node 22. */
export { openNodeSocket } from './node-socket.ts';
export { syncFolder, type SyncOptions, type SyncResult } from './sync-folder.ts';
export { SyncMemory } from './sync-memory.ts';
