import { z } from 'zod';
import { type ActivityType, SANDBOX_ACTIVITY_TYPES } from '#core/runs/activity.ts';
import { RUN_EVENT_TYPES } from '#core/runs/timeline.ts';
import { AUDIT_EVENT_MEANINGS } from '#protocol/audit-event-types.ts';
import { CloudEventSchema } from '#protocol/cloud-event.ts';
import { code, pageOf, tableOf } from './markdown.ts';

const EVENTS: Readonly<Record<ActivityType, readonly [meaning: string, data: string]>> = {
  'run.created': ['The run was created', '`owner`, `title`, `sandbox_id`, `auto_approve_tools`'],
  'run.completed': ['The run was completed', ''],
  'run.shared': ['The owner or an admin changed who sees the run', '`sharing`, `by`, `user`'],
  'agent.connected': ['The agent made its first call with its current token', ''],
  'sandbox.created': ['The sandbox was created', '`sandbox_id`, `image`'],
  'sandbox.stopped': [
    'The sandbox was stopped. `reason` is set if its provider stopped it',
    '`sandbox_id`, `reason`',
  ],
  'sandbox.resumed': ['The sandbox runs again', '`sandbox_id`'],
  'sandbox.destroyed': ['The sandbox and its files were deleted', '`sandbox_id`'],
  'checkpoint.created': [
    'A checkpoint was made. `cause` says why. `by` is missing for an automatic one',
    '`checkpoint_id`, `label`, `cause`, `files`, `by`, `user`',
  ],
  'checkpoint.restored': [
    'The files and servers became those of a checkpoint. `before` is the checkpoint that was made first',
    '`checkpoint_id`, `label`, `before`, `written`, `removed`, `by`, `user`',
  ],
  'checkpoint.forked': [
    'A sandbox was made from a checkpoint',
    '`checkpoint_id`, `label`, `sandbox_id`, `by`, `user`',
  ],
  'preview.opened': ['A preview serves', '`target_port`, `preview`, `expires_at`, `by`, `user`'],
  'preview.kept': [
    'The expiry of a preview was extended; at most one event in ten minutes',
    '`target_port`, `preview`, `expires_at`, `by`, `user`',
  ],
  'preview.stopped': ['A preview was stopped, and its URL revoked', '`target_port`, `preview`, `by`, `user`'],
  'preview.reaped': [
    'A preview ended by itself: idle, at its maximum lifetime, or with its sandbox or run',
    '`target_port`, `preview`, `reason`',
  ],
  'preview.visited': [
    'Someone opened a preview below the level `link`; at most one event in an hour for each viewer and link, and twenty for all viewers without a name',
    '`target_port`, `preview`, `viewer`, `level`, `link_id`, `link`',
  ],
  'preview.looked': [
    'A page was checked or looked at',
    '`target_port`, `path`, `result`, `cause`, `place`, `look`, `by`, `user`',
  ],
  'inbox.posted': ['A person posted a comment', '`message`, `target_port`, `by`, `user`'],
  'inbox.replied': ['The comment got a reply', '`message`, `reply_to`, `by`, `user`'],
  'tool.approval_required': [
    'An agent asks for an approval',
    '`request_id`, `display_id`, `tool`, `message`, `expires_at`, and the arguments of the tool; with `level`, who will be able to open the preview',
  ],
  'tool.approved': [
    'A request was approved, by a person or by a policy',
    '`request_id`, `tool`, `source`, `scope`, `decided_by`, `policy_id`, `reason`',
  ],
  'tool.denied': ['A request was denied', '`request_id`, `tool`, `source`, `scope`, `decided_by`, `reason`'],
  'tool.timed_out': ['No one decided in time', '`request_id`, `tool`'],
  'tool.withdrawn': ['The agent no longer waits', '`request_id`, `tool`'],
  'port.listening': ['A program listens on a port', '`port`, `server`, `process_id`'],
  'port.closed': ['No program listens on the port any more', '`port`'],
  'server.changed': ['A declared server changed its state', '`server`, `state`, `reason`'],
  'process.started': ['A process was started', '`process_id`, `name`, `command`, `started_by`, `user`'],
  'process.exited': [
    'A process ended',
    '`process_id`, `name`, `command`, `exit_code`, `signal`, `reason`, `duration_ms`',
  ],
  'command.exited': ['A command ended', '`command`, `exit_code`, `duration_ms`, `by`, `user`'],
  'file.written': ['A file was written through Porthole', '`path`, `by`, `user`'],
  'file.deleted': ['A file was deleted or moved through Porthole', '`path`, `by`, `user`'],
  'network.requested': ['The sandbox tried to connect to a host', '`host`, `port`, `decision`, `rule`'],
};

/** Every event of a run. */
export function eventsPage(): string {
  const rowsOf = (types: readonly ActivityType[]) => types.map((type) => [code(type), ...EVENTS[type]]);
  const head = ['event', 'meaning', 'data'];
  return pageOf(
    '# Events',
    'Events of a run: read them in pages (`GET /api/runs/{id}/timeline`) or follow them as server-sent events (`GET /api/runs/{id}/events`). `by` is `owner`, `admin`, `member`, `agent` or `traffic`, and `person` or `agent` for checkpoints; `user` is the name of a person. No event contains a token or a URL. [The API](api.md) describes the events of one sandbox at `GET /v1/sandbox/{id}/events`.',
    tableOf(head, rowsOf(RUN_EVENT_TYPES)),
    'The activity of a run (`GET /api/runs/{id}/activity` and `…/activity/events`) has the events above, and these events of its sandbox:',
    tableOf(head, rowsOf(SANDBOX_ACTIVITY_TYPES)),
    'The [audit](../guides/audit.md) and [webhooks](../guides/webhooks.md) have these events:',
    tableOf(
      ['event', 'meaning'],
      Object.entries(AUDIT_EVENT_MEANINGS).map(([type, meaning]) => [code(type), meaning]),
    ),
    'A webhook gets them as CloudEvents 1.0 in JSON (`application/cloudevents+json`):',
    tableOf(
      ['field', 'meaning'],
      [
        ...fieldsOf('', CloudEventSchema.omit({ data: true }).shape),
        ...fieldsOf('data.', CloudEventSchema.shape.data.shape),
      ],
    ),
  );
}

function fieldsOf(prefix: string, shape: z.core.$ZodShape): string[][] {
  return Object.entries(shape).flatMap(([name, schema]) => {
    const { description, const: value } = z.toJSONSchema(schema) as { description?: string; const?: unknown };
    const meaning = description ?? (value === undefined ? undefined : `Always ${JSON.stringify(value)}`);
    return [[code(`${prefix}${name}`), meaning ?? '']];
  });
}
