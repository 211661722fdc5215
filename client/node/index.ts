/**
 * The client for Node: uploads folders, has WebSockets before Node 22, and resolves `*.localhost`.
 */
import { Porthole as PortholeAnywhere, type PortholeOptions } from '../porthole.ts';
import type { AuditFilter } from '../resources/audit.ts';
import { auditAsOcsf, type OcsfEvent } from './audit-as-ocsf.ts';
import { fetchPreview } from './fetch-preview.ts';
import { openNodeSocket } from './node-socket.ts';
import { syncFolder } from './sync-folder.ts';
import { Webhooks } from './webhooks.ts';

export * from '../index.ts';
export type { OcsfEvent } from './audit-as-ocsf.ts';
export { openNodeSocket } from './node-socket.ts';
export type { SyncOptions, SyncResult } from '../sync/sync-options.ts';
export { syncFolder } from './sync-folder.ts';
export { SyncMemory } from './sync-memory.ts';
export type {
  NewWebhook,
  Webhook,
  WebhookDelivery,
  WebhookWithSecret,
  Webhooks,
} from './webhooks.ts';

/** Porthole for one caller: `porthole.run()` for owners, `porthole.agentRun(id)` for agents. */
export class Porthole extends PortholeAnywhere {
  readonly webhooks: Webhooks;

  constructor(options: PortholeOptions = {}) {
    super(options, { openSocket: openNodeSocket, fetchPreview, syncFolder });
    this.webhooks = new Webhooks(this.http);
  }

  /** What happened in the installation as OCSF events, oldest first. For admins. */
  auditAsOcsf(filter: AuditFilter = {}): AsyncGenerator<OcsfEvent, void> {
    return auditAsOcsf(this.http, filter);
  }
}
