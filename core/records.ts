import type { ApprovalRecords, PolicyRecords } from './approvals/approval-store.ts';
import type { AuditRecords } from './audit/audit-event.ts';
import type { ApiKeyRecords } from './auth/api-key-store.ts';
import type { AccessRecords } from './previews/access-store.ts';
import type { ArchiveRecords } from './archives/archive-store.ts';
import type { CheckpointRecords } from './checkpoints/checkpoint-store.ts';
import type { DelegationRecords } from './delegations/delegation-store.ts';
import type {
  DraftRecords,
  ToolRecords,
  ToolRunRecords,
  ToolSnapshotRecords,
} from './editor/editor-store.ts';
import type { EndedSessionRecords } from './auth/sign-in.ts';
import type { ImageRecords } from './images/image-store.ts';
import type { InboxRecords } from './inbox/inbox-store.ts';
import type { LookRecords } from './pages/look-store.ts';
import type { PreviewNames } from './previews/name-store.ts';
import type { PreviewRecords } from './previews/preview-records.ts';
import type { RunRecords } from './runs/run-records.ts';
import type { SandboxCapacity } from './sandboxes/sandbox-capacity.ts';
import type { SandboxEventRecords } from './sandboxes/sandbox-events.ts';
import type { SandboxRecords } from './sandboxes/sandbox-records.ts';
import type { SkillRecords } from './skills/skill-store.ts';
import type { ViewerRecords } from './runs/run-viewers.ts';
import type { UsageRecords } from './usage/usage-store.ts';
import type { TimelineRecords } from './runs/timeline.ts';
import type { WebhookRecords } from './webhooks/webhook-store.ts';

export interface DatabaseState {
  /** Its own clock. */
  readonly now: Date;
  /** Such as `PostgreSQL 17.2`. */
  readonly software: string;
  /** A step of its schema that only a newer version knows. */
  readonly newerStep: string | undefined;
}

/**
 * The durable records of runs and their timelines, approvals, sandboxes, ended previews and the
 * editor's tools. Nothing that a live preview needs is in here. Every method is one transaction;
 * times are stored as RFC 3339 UTC text with milliseconds. Each may fail with `service_unavailable`
 * when the database cannot be reached or used, and with `invalid_request` on a text that holds
 * U+0000. A write that fails with `service_unavailable` may have taken effect.
 */
export interface Records {
  readonly runs: RunRecords;
  readonly sandboxes: SandboxRecords;
  readonly capacity: SandboxCapacity;
  readonly previews: PreviewRecords;
  readonly access: AccessRecords;
  readonly previewNames: PreviewNames;
  readonly timeline: TimelineRecords;
  readonly approvals: ApprovalRecords;
  readonly policies: PolicyRecords;
  readonly tools: ToolRecords;
  readonly drafts: DraftRecords;
  readonly toolRuns: ToolRunRecords;
  readonly toolSnapshots: ToolSnapshotRecords;
  readonly images: ImageRecords;
  readonly delegations: DelegationRecords;
  readonly sandboxEvents: SandboxEventRecords;
  readonly skills: SkillRecords;
  readonly archives: ArchiveRecords;
  readonly checkpoints: CheckpointRecords;
  readonly looks: LookRecords;
  readonly inbox: InboxRecords;
  readonly viewers: ViewerRecords;
  readonly endedSessions: EndedSessionRecords;
  readonly apiKeys: ApiKeyRecords;
  readonly audit: AuditRecords;
  readonly usage: UsageRecords;
  readonly webhooks: WebhookRecords;
  /** Brings the schema to the newest migration; safe when several instances start at once. */
  migrate(): Promise<void>;
  database(): Promise<DatabaseState>;
  /** Whether the database answered the last request. */
  isAnswering(): boolean;
  close(): Promise<void>;
}
