import type { Generated, Insertable, Selectable } from 'kysely';
import type { AuditHead, AuditRow } from '#core/audit/audit-event.ts';
import type { ApiKeyRecord } from '#core/auth/api-key-store.ts';
import type { ApprovalRecord } from '#core/approvals/approval-store.ts';
import type { CheckpointHead, CheckpointRecord } from '#core/checkpoints/checkpoint-store.ts';
import type { InboxMessage } from '#core/inbox/inbox-store.ts';
import type {
  SnapshotRecord,
  ToolRecord,
  ToolRunRecord,
  ToolSource,
  ToolVersionRecord,
} from '#core/editor/editor-store.ts';
import type { PortAccess, PreviewLink, PreviewVisit } from '#core/previews/access-store.ts';
import type { EndReason } from '#core/previews/preview-records.ts';
import type { RunRecord } from '#core/runs/run-records.ts';
import type { SandboxRecord } from '#core/sandboxes/sandbox-records.ts';
import type { SandboxEventType } from '#core/sandboxes/sandbox-events.ts';
import type { RunEventType } from '#core/runs/timeline.ts';
import type { UsageAmounts } from '#core/usage/usage-store.ts';
import type { Delivery, Webhook } from '#core/webhooks/webhook-store.ts';
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
  sandboxes: Columns<
    Pick<SandboxRecord, (typeof SANDBOX_FIELDS)[number] | 'stoppedAt' | 'ttlSeconds' | 'timeoutAt'>
  > & {
    generation: Generated<number>;
    /** JSON object of strings. */
    tags: Generated<string>;
    /** JSON array of SandboxSkill. */
    skills: Generated<string>;
    /** Null in rows of an older schema: `created_at` applies. */
    last_active_at: string | null;
    delete_with_thread: Generated<number>;
    on_timeout: Generated<SandboxRecord['onTimeout']>;
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
  preview_access: Columns<Omit<PortAccess, 'revoked'>> & {
    run_id: string;
    target_port: number;
    /** JSON list of ids. */
    revoked: string;
  };
  /** A name of a zone belongs to its last owner, also for some time after it was given back. */
  preview_names: OwnerColumns & {
    zone: string;
    name: string;
    run_id: string;
    target_port: number;
    /** Null: the port has it. */
    released_at: string | null;
  };
  preview_links: Columns<PreviewLink>;
  preview_visits: Columns<PreviewVisit>;
  /** One row each time that visitors started a preview. */
  preview_wakes: OwnerColumns & {
    link_id: string;
    at: string;
  };
  /** Owners who may have no previews. */
  preview_blocks: OwnerColumns & {
    reason: string;
    blocked_by: string;
    blocked_at: string;
  };
  preview_tombstones: {
    token_sha256: string;
    run_id: string;
    target_port: number | null;
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
  checkpoints: Columns<
    Pick<
      CheckpointRecord,
      | 'id'
      | 'owner'
      | 'sandboxId'
      | 'generation'
      | 'family'
      | 'parentId'
      | 'label'
      | 'cause'
      | 'state'
      | 'createdAt'
      | 'image'
      | 'files'
      | 'leftOut'
      | 'isConsistent'
      | 'manifestSha256'
      | 'baseId'
    >
  > & {
    bytes: number | string;
    stored_bytes: number | string;
    /** JSON object of numbers. */
    packs: string;
    /** JSON. */
    memory: string | null;
    /** JSON lists. */
    servers: string;
    variables: string;
  };
  checkpoint_heads: Columns<CheckpointHead> & {
    sandbox_id: string;
    generation: number;
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
  /** `seq`, `prev_hash` and `hash` are null until the row is in the chain. */
  audit_events: Columns<Pick<AuditRow, 'id' | 'type' | 'at' | 'subject' | 'result'>> & {
    /** The users that the details name. */
    users: string | null;
    /** Canonical JSON of AuditDetails. Null, like `users` and `salt`, once it is redacted. */
    details: string | null;
    salt: string | null;
    details_hash: string;
    seq: Generated<number | null>;
    prev_hash: Generated<string | null>;
    hash: Generated<string | null>;
  };
  audit_heads: Columns<AuditHead> & { is_waiting: Generated<number> };
  /** What a counter of a sandbox has counted on a day. */
  sandbox_usage: Columns<UsageAmounts> &
    OwnerColumns & {
      sandbox_id: string;
      /** The counter. */
      source: string;
      /** `YYYY-MM-DD`. */
      day: string;
      /** Empty: in no run. */
      run_id: string;
      /** JSON of UsageAmounts: the last reading. */
      counter: string;
      read_at: string;
      /** Its counter has a later row, ended, or counts on. */
      state: 'past' | 'closed' | 'open';
      estimated: number;
    };
  webhooks: Columns<Omit<Webhook, 'events' | 'url' | 'keys'>> & {
    /** JSON array. */
    events: string;
    /** JSON of the URL and the keys, sealed. */
    content: string;
    /** `seq` of the last row that it has read. */
    position: number;
    /** Its deliveries that wait. */
    waiting: number;
    /** No attempt begins before. */
    retry_at: string | null;
  };
  webhook_deliveries: Columns<Delivery> & {
    /** Of its event. */
    seq: number;
    /** Whether it waits for earlier ones of its subject. */
    is_ordered: number;
    /** Also after the process of the attempt was killed. */
    is_sending: number;
  };
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

/**
 * One step of the schema. Never change a released step; add another one. A step expands: the
 * version before runs on the schema after it.
 */
export interface Migration {
  /** `0001-what-it-adds`; kept in the database once applied. */
  readonly name: string;
  /**
   * Removes what earlier versions need, a release after the last that needs it. Earlier versions
   * refuse the database from then on.
   * @default false
   */
  readonly contracts?: true;
  /**
   * Statements, separated by semicolons. `TEXT` is the column type for all text: compared byte by
   * byte, so that order is the same on every database. `BYTES` is the type for binary data.
   */
  readonly sql: string;
}

/** Both databases use an index of live sandboxes only for exactly this condition. */
const LIVE = `not (desired = 'destroyed' and observed = 'destroyed')`;

/** What versions, drafts and snapshots of tools have in common. */
const TOOL_SOURCE = `
  entrypoint TEXT not null, source_code TEXT not null, language TEXT not null,
  input_schema TEXT, settings_schema TEXT, usage_instructions TEXT not null`;

const TITLE = `substr(lower(coalesce(title, '')), 1, 60)`;
const ACTIVE = 'coalesce(last_active_at, created_at)';
const SHOWN_NAME = `lower(coalesce(name, ''))`;

/**
 * Every step, oldest first. The first makes the schema of 0.2.0. Databases of that version also
 * have the names of earlier steps.
 */
export const MIGRATIONS: readonly Migration[] = [
  // The schema of 0.2.0. Destroyed sandboxes are kept forever, so queries for live ones need an
  // index. The unique indexes are authoritative for keys and names, whatever a transaction has
  // read; where a column is null, both databases allow any number of rows. CPUs are in thousandths,
  // so that sums are exact; null is the provider's default. Port 0 of a policy is any port.
  {
    name: '0018-network-policies',
    sql: `
    create table runs (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, title TEXT,
      sandbox_id TEXT not null, auto_approve_tools integer not null, status TEXT not null,
      token_kid TEXT not null, created_at TEXT not null, completed_at TEXT);
    create index runs_by_time on runs (created_at, id);
    create index runs_by_owner on runs (owner_org, owner_user, created_at, id);
    create index runs_by_sandbox on runs (sandbox_id, id);
    create table run_events (
      run_id TEXT not null, seq integer not null, type TEXT not null, at TEXT not null,
      data TEXT not null, "key" TEXT, constraint run_events_key primary key (run_id, seq));
    create unique index run_events_once on run_events (run_id, "key");
    create table preview_generations (
      run_id TEXT not null, target_port integer not null, generation integer not null,
      constraint preview_generations_key primary key (run_id, target_port));
    create table preview_tombstones (
      token_sha256 TEXT primary key, run_id TEXT not null, reason TEXT not null,
      ended_at TEXT not null);
    create index preview_tombstones_by_time on preview_tombstones (ended_at);
    create table sandboxes (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, image TEXT,
      place TEXT not null, desired TEXT not null, observed TEXT not null, created_at TEXT not null,
      generation integer default 1 not null, session_key TEXT, name TEXT, last_active_at TEXT,
      stopped_at TEXT, tags TEXT default '{}' not null, cpu_millis integer, memory_mb integer,
      disk_mb integer, network integer default 0 not null, env TEXT default '{}' not null,
      ttl_seconds integer, heartbeat_at TEXT, skills TEXT default '[]' not null,
      delete_with_thread integer default 0 not null, network_policy TEXT);
    create index sandboxes_live on sandboxes (created_at, id) where ${LIVE};
    create index sandboxes_by_owner
      on sandboxes (place, owner_org, owner_user, created_at, id) where ${LIVE};
    create index sandboxes_of_owner
      on sandboxes (owner_org, owner_user, created_at, id) where ${LIVE};
    create unique index sandboxes_by_session_key on sandboxes (owner_org, owner_user, session_key)
      where session_key is not null and desired <> 'destroyed';
    create unique index sandboxes_by_name on sandboxes (owner_org, owner_user, name)
      where name is not null and desired <> 'destroyed';
    create table sandbox_events (
      sandbox_id TEXT not null, seq integer not null, generation integer not null,
      type TEXT not null, at TEXT not null, data TEXT not null,
      constraint sandbox_events_key primary key (sandbox_id, seq));
    create index sandbox_events_due on sandbox_events (at);
    create table sandbox_tokens (
      sandbox_id TEXT not null, generation integer not null, version integer not null,
      constraint sandbox_tokens_key primary key (sandbox_id, generation));
    create table delegations (
      id TEXT primary key, sandbox_id TEXT not null, generation integer not null,
      scopes TEXT not null, commands TEXT, paths TEXT, label TEXT, renewable integer not null,
      ttl_ms integer not null, created_at TEXT not null, expires_at TEXT not null);
    create index delegations_by_sandbox on delegations (sandbox_id, created_at, id);
    create index delegations_due on delegations (expires_at);
    create table approvals (
      id TEXT primary key, run_id TEXT not null, tool TEXT not null, args TEXT not null,
      message TEXT not null, status TEXT not null, requested_at TEXT not null,
      expires_at TEXT not null, ended_at TEXT, source TEXT, decided_by TEXT, scope TEXT,
      reason TEXT, taken_at TEXT);
    create unique index approvals_waiting on approvals (run_id, tool, args) where status = 'waiting';
    create index approvals_due on approvals (expires_at) where status = 'waiting';
    create index approvals_by_run on approvals (run_id, requested_at, id);
    create index approvals_by_end on approvals (ended_at);
    create table approval_waiters (
      approval_id TEXT not null, waiter TEXT not null, until TEXT not null,
      constraint approval_waiters_key primary key (approval_id, waiter));
    create table approval_policies (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, tool TEXT not null,
      run_id TEXT not null, created_at TEXT not null, created_by TEXT not null,
      target_port integer default 0 not null);
    create unique index approval_policies_once
      on approval_policies (owner_org, owner_user, tool, run_id, target_port);
    create index approval_policies_by_time on approval_policies (created_at, id);
    create index approval_policies_by_owner
      on approval_policies (owner_org, owner_user, created_at, id);
    create table approval_denials (
      run_id TEXT not null, tool TEXT not null, target_port integer not null,
      rotate integer not null,
      constraint approval_denials_key primary key (run_id, tool, target_port, rotate));
    create table archives (
      id TEXT primary key, sandbox_id TEXT not null, generation integer not null, name TEXT,
      image TEXT, owner_user TEXT not null, owner_org TEXT not null, object_key TEXT not null,
      size bigint not null, left_out integer not null, created_at TEXT not null);
    create index archives_of_owner on archives (owner_org, owner_user, created_at, id);
    create index archives_by_time on archives (created_at, id);
    create table images (
      name TEXT primary key, reference TEXT not null, description TEXT not null,
      languages TEXT not null, resources TEXT not null, put_at TEXT not null);
    create table skills (
      owner_org TEXT not null, owner_user TEXT not null, name TEXT not null,
      description TEXT not null, digest TEXT not null, size integer not null, files TEXT not null,
      archive BYTES not null, put_at TEXT not null,
      constraint skills_key primary key (owner_org, owner_user, name));
    create table ended_sessions (id TEXT primary key, until TEXT not null);
    create index ended_sessions_due on ended_sessions (until);
    create table tools (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, name TEXT not null,
      created_at TEXT not null);
    create index tools_by_time on tools (created_at, id);
    create index tools_by_owner on tools (owner_org, owner_user, created_at, id);
    create table tool_versions (${TOOL_SOURCE},
      id TEXT primary key, tool_id TEXT not null, number integer not null,
      created_at TEXT not null, created_by TEXT not null,
      constraint tool_versions_number unique (tool_id, number));
    create index tool_versions_by_tool on tool_versions (tool_id, created_at, id);
    create table tool_drafts (${TOOL_SOURCE},
      tool_id TEXT primary key, version_id TEXT not null, revision integer not null,
      updated_at TEXT not null, updated_by TEXT not null, lock_org TEXT, lock_user TEXT,
      lock_token_sha256 TEXT, lock_expires_at TEXT);
    create table sandbox_snapshots (${TOOL_SOURCE},
      id TEXT primary key, tool_id TEXT not null, version_id TEXT not null,
      owner_org TEXT not null, owner_user TEXT not null, payload_bytes integer not null,
      state TEXT not null, sandbox_id TEXT, created_at TEXT not null, created_by TEXT not null,
      expires_at TEXT not null, bytes integer default 0 not null);
    create index sandbox_snapshots_by_expiry on sandbox_snapshots (expires_at, id);
    create index sandbox_snapshots_by_owner
      on sandbox_snapshots (owner_org, owner_user, expires_at, bytes);
    create table tool_runs (
      id TEXT primary key, tool_id TEXT not null, version_id TEXT not null,
      snapshot_id TEXT not null, snapshot_expires_at TEXT not null, owner_org TEXT not null,
      owner_user TEXT not null, action_id TEXT, parent_run_id TEXT, inputs TEXT not null,
      status TEXT not null, outputs TEXT not null, next_actions TEXT not null, error TEXT not null,
      stdout TEXT not null, stderr TEXT not null, created_at TEXT not null,
      created_by TEXT not null, ended_at TEXT, deadline TEXT not null);
    create index tool_runs_by_tool on tool_runs (tool_id, created_at, id);
    create index tool_runs_by_expiry on tool_runs (snapshot_expires_at, id);
    create index tool_runs_running_by_snapshot_id on tool_runs (snapshot_id)
      where status = 'running';
    create index tool_runs_running_by_owner_org on tool_runs (owner_org, owner_user)
      where status = 'running';
    create index tool_runs_running_by_deadline on tool_runs (deadline, id)
      where status = 'running'`,
  },

  // Several instances may follow one guest: an event with a key is stored once.
  {
    name: '0019-sandbox-event-keys',
    sql: `
    alter table sandbox_events add column "key" TEXT;
    create unique index sandbox_events_once on sandbox_events (sandbox_id, generation, "key")`,
  },

  // Each rotation of a run's agent token increments it; tokens of earlier versions are refused.
  {
    name: '0020-agent-token-versions',
    sql: `
    alter table runs add column agent_token_version integer default 0 not null`,
  },

  // Secrets that the broker inserts, sealed as the environment is.
  {
    name: '0021-sandbox-secrets',
    sql: `
    alter table sandboxes add column secrets TEXT`,
  },

  // Kept looks at previews, and the comments of people with the agents' replies; sealed.
  {
    name: '0022-looks-inbox',
    sql: `
    create table looks (
      id TEXT primary key, run_id TEXT not null, page TEXT not null, at TEXT not null,
      content TEXT not null, picture TEXT);
    create index looks_by_run on looks (run_id, at, id);
    create index looks_by_time on looks (at);
    create table inbox_messages (
      id TEXT primary key, run_id TEXT not null, reply_to TEXT, "by" TEXT not null,
      at TEXT not null, read_at TEXT, content TEXT not null, picture TEXT);
    create index inbox_messages_by_run on inbox_messages (run_id, at, id)`,
  },

  // The orders of the lists of runs and sandboxes, with and without an owner.
  {
    name: '0023-lists',
    sql: `
    create index runs_by_title on runs (${TITLE}, id);
    create index runs_of_owner_by_title on runs (owner_org, owner_user, ${TITLE}, id);
    create index runs_by_status on runs (status, created_at, id);
    create index sandboxes_live_by_active on sandboxes (${ACTIVE}, id) where ${LIVE};
    create index sandboxes_of_owner_by_active
      on sandboxes (owner_org, owner_user, ${ACTIVE}, id) where ${LIVE};
    create index sandboxes_live_by_shown_name on sandboxes (${SHOWN_NAME}, id) where ${LIVE};
    create index sandboxes_of_owner_by_shown_name
      on sandboxes (owner_org, owner_user, ${SHOWN_NAME}, id) where ${LIVE}`,
  },

  // What the organisation of a run's owner may do in it.
  {
    name: '0025-sharing',
    sql: `
    alter table runs add column sharing TEXT default 'private' not null;
    create index runs_shared on runs (owner_org, created_at, id) where sharing <> 'private'`,
  },

  // Who has a shared run open.
  {
    name: '0026-run-viewers',
    sql: `
    create table run_viewers (
      run_id TEXT not null, viewer TEXT not null, seen_at TEXT not null,
      constraint run_viewers_key primary key (run_id, viewer));
    create index run_viewers_by_time on run_viewers (seen_at)`,
  },

  // Keys that people make for programs, by their SHA-256.
  {
    name: '0027-api-keys',
    sql: `
    create table api_keys (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, name TEXT not null,
      scope TEXT not null, admin integer not null, issuer TEXT, prefix TEXT not null,
      digest TEXT not null, created_at TEXT not null, expires_at TEXT not null, last_used_at TEXT);
    create unique index api_keys_by_digest on api_keys (digest);
    create index api_keys_of_owner on api_keys (owner_org, owner_user, created_at, id);
    create index api_keys_by_time on api_keys (created_at, id)`,
  },

  // Who may open previews, by which links, and who did. An empty link_id: without a link.
  {
    name: '0028-preview-access',
    sql: `
    create table preview_access (
      run_id TEXT not null, target_port integer not null, level TEXT not null, epoch integer not null,
      revoked TEXT not null, password TEXT,
      constraint preview_access_key primary key (run_id, target_port));
    create table preview_links (
      id TEXT primary key, run_id TEXT not null, target_port integer not null, label TEXT not null,
      level TEXT not null, digest TEXT not null, password TEXT,
      uses integer not null, max_uses integer, created_by TEXT not null, created_at TEXT not null,
      expires_at TEXT, last_used_at TEXT);
    create index preview_links_by_port on preview_links (run_id, target_port, id);
    create index preview_links_by_expiry on preview_links (expires_at);
    create table preview_visits (
      run_id TEXT not null, target_port integer not null, viewer TEXT not null, link_id TEXT not null,
      first_at TEXT not null, last_at TEXT not null,
      constraint preview_visits_key primary key (run_id, target_port, viewer, link_id));
    create index preview_visits_by_time on preview_visits (last_at)`,
  },

  // Previews that visitors may start again, and how often they did. An empty link_id: no link.
  {
    name: '0029-preview-wakes',
    sql: `
    alter table preview_tombstones add column target_port integer;
    alter table preview_links add column may_wake integer default 0 not null;
    create table preview_wakes (
      owner_org TEXT not null, owner_user TEXT not null, link_id TEXT not null, at TEXT not null);
    create index preview_wakes_of_owner on preview_wakes (owner_org, owner_user, at);
    create index preview_wakes_by_time on preview_wakes (at)`,
  },

  // Owners who may have no previews until an admin lifts it.
  {
    name: '0030-preview-blocks',
    sql: `
    create table preview_blocks (
      owner_org TEXT not null, owner_user TEXT not null, reason TEXT not null,
      blocked_by TEXT not null, blocked_at TEXT not null,
      constraint preview_blocks_key primary key (owner_org, owner_user));
    create index preview_blocks_by_time on preview_blocks (blocked_at)`,
  },

  // Names that owners give their previews, each once in a zone.
  {
    name: '0031-preview-names',
    sql: `
    create table preview_names (
      zone TEXT not null, name TEXT not null, owner_org TEXT not null, owner_user TEXT not null,
      run_id TEXT not null, target_port integer not null, released_at TEXT,
      constraint preview_names_key primary key (zone, name));
    create index preview_names_by_port on preview_names (run_id, target_port);
    create index preview_names_of_owner on preview_names (owner_org, owner_user);
    create index preview_names_by_release on preview_names (released_at)`,
  },

  // What sandboxes can go back to, and where each is in the tree of them.
  {
    name: '0032-checkpoints',
    sql: `
    create table checkpoints (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, sandbox_id TEXT not null,
      generation integer not null, family TEXT not null, parent_id TEXT, label TEXT,
      cause TEXT not null, state TEXT not null, created_at TEXT not null, image TEXT,
      files integer not null, bytes bigint not null, stored_bytes bigint not null,
      left_out integer not null, is_consistent integer not null, manifest_sha256 TEXT not null,
      base_id TEXT, packs TEXT not null, servers TEXT not null, variables TEXT not null);
    create index checkpoints_of_sandbox on checkpoints (sandbox_id, generation, id);
    create index checkpoints_of_family on checkpoints (family);
    create index checkpoints_of_owner on checkpoints (owner_org, owner_user);
    create index checkpoints_untidy on checkpoints (family) where state <> 'ready';
    create table checkpoint_heads (
      sandbox_id TEXT not null, generation integer not null, family TEXT not null,
      checkpoint_id TEXT not null, made_id TEXT,
      constraint checkpoint_heads_key primary key (sandbox_id, generation))`,
  },

  // Processes and their memory: their hash and size.
  {
    name: '0035-checkpoint-memory',
    sql: 'alter table checkpoints add column memory TEXT',
  },

  // When a sandbox ends, whatever it does.
  {
    name: '0036-sandbox-timeouts',
    sql: `
    alter table sandboxes add column timeout_at TEXT;
    alter table sandboxes add column on_timeout TEXT default 'stop' not null`,
  },

  // What happened, as a chain of hashes. A row without a seq waits for its place in the chain.
  {
    name: '0037-audit',
    sql: `
    create table audit_events (
      id TEXT primary key, type TEXT not null, at TEXT not null, subject TEXT not null,
      result TEXT not null, users TEXT, details TEXT, salt TEXT, details_hash TEXT not null,
      seq integer, prev_hash TEXT, hash TEXT);
    create unique index audit_events_by_seq on audit_events (seq);
    create index audit_events_loose on audit_events (id) where seq is null;
    create index audit_events_of_subject on audit_events (subject, seq);
    create index audit_events_by_type on audit_events (type, seq);
    create table audit_heads (
      seq integer primary key, hash TEXT not null, at TEXT not null, token TEXT not null)`,
  },

  // Sums of usage by sandbox, counter and day.
  {
    name: '0038-usage',
    sql: `
    create table sandbox_usage (
      sandbox_id TEXT not null, source TEXT not null, day TEXT not null, run_id TEXT not null,
      owner_org TEXT not null, owner_user TEXT not null,
      vcpu_s double precision not null, memory_gib_s double precision not null,
      disk_gib_s double precision not null, egress_bytes double precision not null,
      preview_bytes double precision not null, look_s double precision not null,
      counter TEXT not null, read_at TEXT not null, state TEXT not null, estimated integer not null,
      primary key (sandbox_id, source, day, run_id, owner_user, owner_org));
    create index sandbox_usage_of_owner on sandbox_usage (owner_org, owner_user, day);
    create index sandbox_usage_by_day on sandbox_usage (day)`,
  },

  // Receivers of events, and what each has to get. A position is a seq of the audit.
  {
    name: '0040-webhooks',
    sql: `
    create table webhooks (
      id TEXT primary key, owner_org TEXT not null, owner_user TEXT not null, scope TEXT not null,
      events TEXT not null, signature TEXT not null, content TEXT not null,
      position integer not null, waiting integer not null, failures integer not null, failing_at TEXT, retry_at TEXT,
      delivered_at TEXT, created_at TEXT not null, disabled_at TEXT, disabled_reason TEXT);
    create index webhooks_of_owner on webhooks (owner_org, owner_user, created_at, id);
    create index webhooks_active on webhooks (position) where disabled_at is null;
    create table webhook_deliveries (
      id TEXT primary key, hook_id TEXT not null, event_id TEXT not null, event_type TEXT not null,
      subject TEXT not null, seq integer not null, is_ordered integer not null,
      is_sending integer not null, state TEXT not null, attempts integer not null, next_at TEXT,
      first_at TEXT, created_at TEXT not null, ended_at TEXT, status integer, error TEXT);
    create unique index webhook_deliveries_of_event on webhook_deliveries (hook_id, event_id);
    create index webhook_deliveries_of_hook on webhook_deliveries (hook_id, created_at, id);
    create index webhook_deliveries_due on webhook_deliveries (hook_id, next_at)
      where next_at is not null;
    create index webhook_deliveries_waiting on webhook_deliveries (hook_id, subject, seq)
      where state = 'waiting';
    create index webhook_deliveries_by_end on webhook_deliveries (ended_at)`,
  },

  // Whether a head waits to be written to the bucket.
  {
    name: '0043-audit-anchors',
    sql: `
    alter table audit_heads add column is_waiting integer not null default 0;
    create index audit_heads_waiting on audit_heads (seq) where is_waiting = 1`,
  },
];
