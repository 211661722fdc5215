import type {
  DraftChange,
  DraftLock,
  DraftRecord,
  JsonObject,
  JsonValue,
  NewToolRun,
  NextAction,
  SnapshotRecord,
  ToolRecord,
  ToolRunError,
  ToolRunOutcome,
  ToolRunRecord,
  ToolRunSummary,
  ToolSource,
  ToolVersionRecord,
} from '#core/editor/editor-store.ts';
import { instantText } from './sql-dialect.ts';
import type { NewRow, Row, ToolSourceColumns } from './schema.ts';

export function toolRow({ id, owner, name, createdAt }: ToolRecord): NewRow<'tools'> {
  return {
    id,
    owner_org: owner.org,
    owner_user: owner.user,
    name,
    created_at: instantText(createdAt),
  };
}

export function toTool(row: Row<'tools'>): ToolRecord {
  return {
    id: row.id,
    owner: { user: row.owner_user, org: row.owner_org },
    name: row.name,
    createdAt: new Date(row.created_at),
  };
}

export function versionRow(version: ToolVersionRecord): NewRow<'tool_versions'> {
  return {
    id: version.id,
    tool_id: version.toolId,
    number: version.number,
    created_at: instantText(version.createdAt),
    created_by: version.createdBy,
    ...sourceColumns(version),
  };
}

export function toVersion(row: Row<'tool_versions'>): ToolVersionRecord {
  return {
    id: row.id,
    toolId: row.tool_id,
    number: row.number,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    ...toSource(row),
  };
}

/** The columns that a change of a draft sets. */
export function changedColumns({ versionId, ...source }: DraftChange): Partial<Row<'tool_drafts'>> {
  const columns: Partial<Row<'tool_drafts'>> = {};
  if (versionId !== undefined) columns.version_id = versionId;
  if (source.entrypoint !== undefined) columns.entrypoint = source.entrypoint;
  if (source.sourceCode !== undefined) columns.source_code = source.sourceCode;
  if (source.language !== undefined) columns.language = source.language;
  if (source.inputSchema !== undefined) columns.input_schema = schemaText(source.inputSchema);
  if (source.settingsSchema !== undefined) columns.settings_schema = schemaText(source.settingsSchema);
  if (source.usageInstructions !== undefined) columns.usage_instructions = source.usageInstructions;
  return columns;
}

export function lockColumns({ holder, tokenSha256, expiresAt }: DraftLock) {
  return {
    lock_org: holder.org,
    lock_user: holder.user,
    lock_token_sha256: tokenSha256,
    lock_expires_at: instantText(expiresAt),
  };
}

export function toDraft(row: Row<'tool_drafts'>): DraftRecord {
  return {
    toolId: row.tool_id,
    versionId: row.version_id,
    revision: row.revision,
    updatedAt: new Date(row.updated_at),
    updatedBy: row.updated_by,
    lock: toLock(row),
    ...toSource(row),
  };
}

export function toLock(
  row: Pick<Row<'tool_drafts'>, 'lock_org' | 'lock_user' | 'lock_token_sha256' | 'lock_expires_at'>,
): DraftLock | null {
  const { lock_org: org, lock_user: user, lock_token_sha256: tokenSha256, lock_expires_at: until } = row;
  if (org === null || user === null || tokenSha256 === null || until === null) return null;
  return { holder: { user, org }, tokenSha256, expiresAt: new Date(until) };
}

export function snapshotRow(snapshot: SnapshotRecord): NewRow<'sandbox_snapshots'> {
  return {
    id: snapshot.id,
    tool_id: snapshot.toolId,
    version_id: snapshot.versionId,
    owner_org: snapshot.owner.org,
    owner_user: snapshot.owner.user,
    payload_bytes: snapshot.payloadBytes,
    state: JSON.stringify(snapshot.state),
    sandbox_id: snapshot.sandboxId,
    created_at: instantText(snapshot.createdAt),
    created_by: snapshot.createdBy,
    expires_at: instantText(snapshot.expiresAt),
    bytes: snapshotSize(snapshot),
    ...sourceColumns(snapshot),
  };
}

/** Size of a snapshot in bytes: its source and its state, as stored. */
export function snapshotSize(snapshot: ToolSource & Pick<SnapshotRecord, 'state'>): number {
  const texts = [...Object.values(sourceColumns(snapshot)), JSON.stringify(snapshot.state)];
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);
}

export function toSnapshot(row: Row<'sandbox_snapshots'>): SnapshotRecord {
  return {
    id: row.id,
    toolId: row.tool_id,
    versionId: row.version_id,
    owner: { user: row.owner_user, org: row.owner_org },
    payloadBytes: row.payload_bytes,
    state: JSON.parse(row.state) as JsonValue,
    sandboxId: row.sandbox_id,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    expiresAt: new Date(row.expires_at),
    ...toSource(row),
  };
}

export function runningRow(run: NewToolRun): NewRow<'tool_runs'> {
  return {
    id: run.id,
    tool_id: run.toolId,
    version_id: run.versionId,
    snapshot_id: run.snapshotId,
    snapshot_expires_at: instantText(run.snapshotExpiresAt),
    owner_org: run.owner.org,
    owner_user: run.owner.user,
    action_id: run.actionId,
    parent_run_id: run.parentRunId,
    inputs: JSON.stringify(run.inputs),
    status: 'running',
    outputs: 'null',
    next_actions: '[]',
    error: 'null',
    stdout: '',
    stderr: '',
    created_at: instantText(run.createdAt),
    created_by: run.createdBy,
    ended_at: null,
    deadline: instantText(run.deadline),
  };
}

export function endedColumns(outcome: ToolRunOutcome, at: Date) {
  return {
    status: outcome.status,
    outputs: JSON.stringify(outcome.outputs),
    next_actions: JSON.stringify(outcome.nextActions),
    error: JSON.stringify(outcome.error),
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    ended_at: instantText(at),
  };
}

/** The columns that stay small. */
export const SUMMARY_COLUMNS = [
  'id',
  'tool_id',
  'version_id',
  'snapshot_id',
  'snapshot_expires_at',
  'owner_org',
  'owner_user',
  'action_id',
  'parent_run_id',
  'status',
  'error',
  'created_at',
  'created_by',
  'ended_at',
  'deadline',
] as const satisfies readonly (keyof Row<'tool_runs'>)[];

export function toToolRunSummary(
  row: Pick<Row<'tool_runs'>, (typeof SUMMARY_COLUMNS)[number]>,
): ToolRunSummary {
  return {
    id: row.id,
    toolId: row.tool_id,
    versionId: row.version_id,
    snapshotId: row.snapshot_id,
    snapshotExpiresAt: new Date(row.snapshot_expires_at),
    owner: { user: row.owner_user, org: row.owner_org },
    actionId: row.action_id,
    parentRunId: row.parent_run_id,
    status: row.status,
    error: JSON.parse(row.error) as ToolRunError | null,
    createdAt: new Date(row.created_at),
    createdBy: row.created_by,
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
    deadline: new Date(row.deadline),
  };
}

export function toToolRun(row: Row<'tool_runs'>): ToolRunRecord {
  return {
    ...toToolRunSummary(row),
    inputs: JSON.parse(row.inputs) as JsonValue,
    outputs: JSON.parse(row.outputs) as JsonValue,
    nextActions: JSON.parse(row.next_actions) as NextAction[],
    stdout: row.stdout,
    stderr: row.stderr,
  };
}

export function sourceColumns(source: ToolSource): ToolSourceColumns {
  return {
    entrypoint: source.entrypoint,
    source_code: source.sourceCode,
    language: source.language,
    input_schema: schemaText(source.inputSchema),
    settings_schema: schemaText(source.settingsSchema),
    usage_instructions: source.usageInstructions,
  };
}

function schemaText(schema: JsonObject | null): string | null {
  return schema && JSON.stringify(schema);
}

function toSource(row: ToolSourceColumns): ToolSource {
  const schema = (text: string | null) => text && (JSON.parse(text) as JsonObject);
  return {
    entrypoint: row.entrypoint,
    sourceCode: row.source_code,
    language: row.language,
    inputSchema: schema(row.input_schema) || null,
    settingsSchema: schema(row.settings_schema) || null,
    usageInstructions: row.usage_instructions,
  };
}
