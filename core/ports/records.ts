import type { ApprovalRecords, PolicyRecords } from './approvals.ts';
import type { ArchiveRecords } from './archives.ts';
import type { DelegationRecords } from './delegations.ts';
import type { EditorRecords } from './editor.ts';
import type { EndedSessionRecords } from './ended-sessions.ts';
import type { ImageRecords } from './images.ts';
import type { PreviewRecords } from './preview-records.ts';
import type { RunRecords } from './run-records.ts';
import type { SandboxEventRecords } from './sandbox-events.ts';
import type { SandboxRecords } from './sandbox-records.ts';
import type { SkillRecords } from './skills.ts';
import type { TimelineRecords } from './timeline.ts';

/**
 * The durable memory of runs and their timelines, approvals, sandboxes, ended previews and the editor's tools. Nothing that a live preview needs is in here.
 * Every method is one transaction; times are stored as RFC 3339 UTC text with milliseconds. Each may fail with
 * `service_unavailable` when the database cannot be reached or used, and with `invalid_request` on a text that holds
 * U+0000. A write that fails with `service_unavailable` may have taken effect.
 */
export interface Records {
  readonly runs: RunRecords;
  readonly sandboxes: SandboxRecords;
  readonly previews: PreviewRecords;
  readonly timeline: TimelineRecords;
  readonly approvals: ApprovalRecords;
  readonly policies: PolicyRecords;
  readonly editor: EditorRecords;
  readonly images: ImageRecords;
  readonly delegations: DelegationRecords;
  readonly sandboxEvents: SandboxEventRecords;
  readonly skills: SkillRecords;
  readonly archives: ArchiveRecords;
  readonly endedSessions: EndedSessionRecords;
  /** Brings the schema to the newest migration; safe when several instances start at once. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}
