import type { Generated, Insertable, Selectable } from 'kysely';
import type { ApiKeyRecord } from '#core/auth/api-key-store.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import type { InboxMessage } from '#core/inbox/inbox-store.ts';
import type {
  SnapshotRecord,
  ToolRecord,
  ToolRunRecord,
  ToolSource,
  ToolVersionRecord,
} from '#core/editor/editor-store.ts';
import type { EndReason } from '#core/previews/preview-records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { SandboxEventType } from '#core/sandboxes/sandbox-events.ts';
import type { RunEventType } from '#core/runs/timeline.ts';
import type { Columns } from './row-fields.ts';

interface MigrationColumns {
  name: string;
  applied_at: string;
}

export interface OwnerColumns {
  owner_org: string;
  owner_user: string;
}

/** What versions, drafts and snapshots have in common. */
export type ToolSourceColumns = Columns<Omit<ToolSource, 'inputSchema' | 'settingsSchema'>> & {
  /** JSON object. */
  input_schema: string | null;
  /** JSON object. */
  settings_schema: string | null;
};

/** The fields of a new sandbox that are columns as they are. */
export const SANDBOX_FIELDS = [
  'id',
  'owner',
  'image',
  'place',
  'desired',
  'observed',
  'createdAt',
  'sessionKey',
  'name',
] as const;

/**
 * The tables after the newest migration, the same on every database: ids are text, times RFC 3339
 * UTC text with milliseconds (which sorts chronologically), booleans 0 or 1. No foreign keys refer
 * to `runs` or `sandboxes`: previews, and runs on sandboxes created elsewhere, outlive a lost
 * database.
 */
export interface SqlSchema {
  schema_migrations: MigrationColumns;
  schema_expansions: MigrationColumns;
  runs: Columns<Omit<RunRecord, 'tokenVersion'>> & { agent_token_version: number };
  sandboxes: Columns<Pick<SandboxRecord, (typeof SANDBOX_FIELDS)[number] | 'stoppedAt' | 'ttlSeconds'>> & {
    generation: Generated<number>;
    /** JSON object of strings. */
    tags: Generated<string>;
    /** JSON array of SandboxSkill. */
    skills: Generated<string>;
    /** Null in rows of an older schema: `created_at` applies. */
    last_active_at: string | null;
    delete_with_thread: Generated<number>;
    /** Null until the first heartbeat: `created_at` applies. */
    heartbeat_at: string | null;
    /** Null, like the two below: the provider's default. */
    cpu_millis: number | null;
    memory_mb: number | null;
    disk_mb: number | null;
    network: Generated<number>;
    /**
     * JSON of a NetworkPolicy. Null in rows of an older schema: `network` says whether it was open.
     */
    network_policy: string | null;
    /** JSON object of strings, which may be secrets. */
    env: Generated<string>;
    /** JSON of SandboxSecrets. Null: none. */
    secrets: string | null;
  };
  /** A row exists from the first explicit stop on: no row means generation 0. */
  preview_generations: {
    run_id: string;
    target_port: number;
    generation: number;
  };
  preview_tombstones: {
    token_sha256: string;
    run_id: string;
    reason: EndReason;
    ended_at: string;
  };
  run_events: {
    run_id: string;
    seq: number;
    type: RunEventType;
    at: string;
    /** JSON */
    data: string;
    /** Null once the same event may be published again. */
    key: string | null;
  };
  approvals: Columns<Omit<ApprovalRecord, 'args'>> & {
    /** JSON with sorted names: equal texts are equal arguments. */
    args: string;
  };
  /** Only for requests that wait. */
  approval_waiters: {
    approval_id: string;
    waiter: string;
    until: string;
  };
  approval_policies: OwnerColumns & {
    id: string;
    tool: string;
    /** Empty for every run: unlike null it takes part in the unique index. */
    run_id: string;
    /** 0 for any port, as above. */
    target_port: number;
    created_at: string;
    created_by: string;
  };
  /** Denials in a run that no approval has revoked. */
  approval_denials: {
    run_id: string;
    tool: string;
    /** 0 if the call named none. */
    target_port: number;
    rotate: number;
  };
  tools: Columns<ToolRecord>;
  tool_versions: Columns<Omit<ToolVersionRecord, keyof ToolSource>> & ToolSourceColumns;
  /** The columns of the lock are all null or all set. */
  tool_drafts: ToolSourceColumns & {
    tool_id: string;
    version_id: string;
    revision: number;
    updated_at: string;
    updated_by: string;
    lock_org: string | null;
    lock_user: string | null;
    lock_token_sha256: string | null;
    lock_expires_at: string | null;
  };
  sandbox_snapshots: Columns<Omit<SnapshotRecord, keyof ToolSource | 'state'>> &
    ToolSourceColumns & {
      /** JSON */
      state: string;
      /** Size of its source and its state, in UTF-8. */
      bytes: number;
    };
  /** Outlives its snapshot; keeps the snapshot's id and expiry. */
  tool_runs: Columns<Omit<ToolRunRecord, 'inputs' | 'outputs' | 'nextActions' | 'error'>> & {
    /** JSON, as the next three are. */
    inputs: string;
    outputs: string;
    next_actions: string;
    error: string;
  };
  /** Images that admins have added; images of the configuration are not in here. */
  images: {
    name: string;
    reference: string;
    description: string;
    /** JSON array of strings. */
    languages: string;
    /** JSON object of numbers. */
    resources: string;
    put_at: string;
  };
  archives: OwnerColumns & {
    id: string;
    sandbox_id: string;
    generation: number;
    name: string | null;
    image: string | null;
    object_key: string;
    /** PostgreSQL returns integers that may exceed a JavaScript number as text. */
    size: number | string;
    left_out: number;
    created_at: string;
  };
  delegations: {
    id: string;
    sandbox_id: string;
    generation: number;
    /** JSON list of strings; so are `commands` and `paths`. */
    scopes: string;
    commands: string | null;
    paths: string | null;
    label: string | null;
    renewable: number;
    ttl_ms: number;
    created_at: string;
    expires_at: string;
  };
  /** A row exists from the first rotation on: no row means version 0. */
  sandbox_tokens: {
    sandbox_id: string;
    generation: number;
    version: number;
  };
  sandbox_events: {
    sandbox_id: string;
    seq: number;
    generation: number;
    type: SandboxEventType;
    at: string;
    /** JSON */
    data: string;
    /** Unique within the sandbox and its generation. */
    key: string | null;
  };
  /** Shared skills have neither org nor user. */
  skills: OwnerColumns & {
    name: string;
    description: string;
    digest: string;
    size: number;
    /** JSON array of SkillFile. */
    files: string;
    /** gzip */
    archive: Uint8Array;
    put_at: string;
  };
  api_keys: Columns<ApiKeyRecord>;
  ended_sessions: {
    id: string;
    until: string;
  };
  run_viewers: {
    run_id: string;
    viewer: string;
    seen_at: string;
  };
  looks: {
    id: string;
    run_id: string;
    /** Digest of port, path, viewport and steps. */
    page: string;
    at: string;
    /** Sealed JSON. */
    content: string;
    /** Sealed JSON of a Picture; null for older looks. */
    picture: string | null;
  };
  inbox_messages: {
    id: string;
    run_id: string;
    reply_to: string | null;
    by: InboxMessage['by'];
    at: string;
    read_at: string | null;
    /** Sealed JSON. */
    content: string;
    /** Sealed JSON of a Picture. */
    picture: string | null;
  };
}

/** A row as it is read. */
export type Row<Table extends keyof SqlSchema> = Selectable<SqlSchema[Table]>;

/** A row to insert. */
export type NewRow<Table extends keyof SqlSchema> = Insertable<SqlSchema[Table]>;
