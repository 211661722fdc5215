import type { EngineEvent } from '@pulumi/pulumi/automation/index.js';

export interface Change {
  readonly op: 'create' | 'update' | 'replace' | 'delete';
  readonly type: string;
  readonly name: string;
  /** The paths that made it an update or a replacement. */
  readonly paths: readonly string[];
}

export interface LogLine {
  readonly severity: 'info' | 'info#err' | 'warning' | 'error';
  readonly message: string;
}

export interface Violation {
  readonly policy: string;
  readonly level: string;
  readonly message: string;
  /** The name of the resource. */
  readonly name: string;
}

const CHANGES: Readonly<Record<string, Change['op']>> = {
  create: 'create',
  update: 'update',
  replace: 'replace',
  delete: 'delete',
};

/** Changes of objects of the cluster, in order; in a preview those that an update would make. */
export function changesOf(events: readonly EngineEvent[]): Change[] {
  return events.flatMap(({ resourcePreEvent }) => {
    const { metadata } = resourcePreEvent ?? {};
    const op = CHANGES[metadata?.op ?? ''];
    if (metadata === undefined || op === undefined || !metadata.type.startsWith('kubernetes:')) return [];
    const paths = Object.keys(metadata.detailedDiff ?? {}).toSorted();
    return [{ op, type: metadata.type, name: nameOf(metadata.urn), paths: op === 'create' ? [] : paths }];
  });
}

/** The releases have their plugins beside the command line. */
const OWN_PLUGINS = /^using pulumi-\S+ from \$PATH/;

/** What a person reads of the update and of its resources, but for passing states. */
export function logOf(events: readonly EngineEvent[]): LogLine[] {
  return events.flatMap(({ diagnosticEvent: event }) => {
    if (event === undefined || event.ephemeral === true) return [];
    const { severity } = event as { readonly severity: LogLine['severity'] | 'debug' };
    const message = plain(event.message).trim();
    return severity === 'debug' || OWN_PLUGINS.test(message) ? [] : [{ severity, message }];
  });
}

export function violationsOf(events: readonly EngineEvent[]): Violation[] {
  return events.flatMap(({ policyEvent: event }) => {
    if (event === undefined) return [];
    const { policyName: policy, enforcementLevel: level, resourceUrn = '', message } = event;
    return [{ policy, level, message: plain(message), name: nameOf(resourceUrn) }];
  });
}

export function nameOf(urn: string): string {
  return urn.split('::').at(-1) ?? '';
}

/** Without the marks of colors. */
function plain(message: string): string {
  return message.replaceAll(/<\{%.*?%\}>/g, '');
}
