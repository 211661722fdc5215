import { createHash } from 'node:crypto';
import { ANNOTATIONS, formatTime, LABELS, timeSlot } from '#constructs/names.ts';
import { previewManifests } from '#constructs/preview-objects.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { formatPreviewToken, previewHost, previewName } from '#core/previews/preview-token.ts';
import { repetitions } from '#test/support/suite.ts';

interface Manifest {
  readonly metadata: {
    name: string;
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences?: object[];
  };
  readonly spec: Record<string, unknown>;
}

/** The expected fate of objects: ended when they are due, ended by a full pass, or left alone. */
export type Fate = 'due' | 'found' | 'stays';

/** A Service, a route, or both with one name. */
export interface Planted {
  readonly fate: Fate;
  readonly name: string;
  readonly token: string;
  readonly sandboxId: string;
  readonly service: object | undefined;
  /** Created from its Service, if any. */
  readonly route: ((service: { uid: string; resourceVersion: string } | undefined) => object) | undefined;
}

interface Making {
  readonly fate: Fate;
  /** Among 10,000 objects. */
  readonly count: number;
  /** @default - both */
  readonly only?: 'service' | 'route';
  /** Minutes from now until it expires. */
  readonly expires?: number;
  /** Minutes from now until the end of its maximum life. */
  readonly maxUntil?: number;
  readonly spoilService?: (service: Manifest) => void;
  readonly spoilRoute?: (route: Manifest, zone: string) => void;
}

const MINUTE = 60_000;
const DAY = 24 * 60;

/** Objects of all makings: 10,000, or as many as the default run of a randomized test. */
export const OBJECTS = repetitions(10_000);

/** As many of `OBJECTS` as there are among 10,000. */
export function shareOf(count: number): number {
  return (count * OBJECTS) / 10_000;
}

/** Of 10,000 objects, 3,000 are foreign, unreadable, or dated in the future; 2,300 are dead. */
export const MAKINGS: Readonly<Record<string, Making>> = {
  alive: { fate: 'stays', count: 2_350, expires: 29 },

  idle: { fate: 'due', count: 600, expires: -20 },
  'past its life, though kept alive': { fate: 'found', count: 150, expires: 29, maxUntil: -1 },
  stopped: { fate: 'found', count: 150, expires: 29 },
  'without its sandbox': { fate: 'found', count: 150, expires: 29 },
  'half-made': { fate: 'due', count: 200, only: 'service' },

  'foreign routes': { fate: 'stays', count: 300, only: 'route', expires: -20, spoilRoute: disown },
  'foreign Services': { fate: 'stays', count: 300, only: 'service', spoilService: disown },
  'Services of another component': {
    fate: 'stays',
    count: 200,
    only: 'service',
    spoilService: ({ metadata }) => (metadata.labels[LABELS.component] = 'sandbox'),
  },
  'Services under a foreign route': { fate: 'stays', count: 300, expires: -20, spoilRoute: disown },
  'routes without a port': without(ANNOTATIONS.targetPort),
  'routes without an owner': without(ANNOTATIONS.owner),
  'routes with an invalid run': {
    ...without(ANNOTATIONS.runId),
    spoilRoute: ({ metadata }) => (metadata.annotations[ANNOTATIONS.runId] = 'run 1; DROP TABLE'),
  },
  'routes of another zone': {
    ...without(''),
    spoilRoute: ({ spec, metadata }) => (spec['hostnames'] = [`${metadata.name}.example.com`]),
  },
  'routes with the host of another name': {
    ...without(''),
    spoilRoute: ({ spec }, zone) => (spec['hostnames'] = [previewHost(`${'a'.repeat(26)}-b`, zone)]),
  },
  'routes with two hosts': {
    ...without(''),
    spoilRoute: (route) =>
      (route.spec['hostnames'] = [...(route.spec['hostnames'] as string[]), 'a.example.com']),
  },
  'of the day after tomorrow': { fate: 'stays', count: 300, expires: 2 * DAY, maxUntil: 3 * DAY },
  'with unreadable times': {
    fate: 'stays',
    count: 200,
    spoilRoute: ({ metadata }) => {
      metadata.annotations[ANNOTATIONS.expiresAt] = 'yesterday';
      metadata.annotations[ANNOTATIONS.maxUntil] = '2020-01-01';
      metadata.labels[LABELS.dueSlot] = 'never';
    },
  },
};

/** All objects of one making. */
export function plants(making: string, previewSettings: PreviewOptions): Planted[] {
  const {
    fate,
    count,
    only,
    expires = 29,
    maxUntil = 480,
    spoilService,
    spoilRoute,
  } = MAKINGS[making] as Making;
  const startedAt = new Date();
  const inMinutes = (minutes: number) => new Date(startedAt.getTime() + minutes * MINUTE);
  return Array.from({ length: shareOf(count) }, (_, at) => {
    const token = formatPreviewToken(createHash('sha256').update(`${making} ${at}`).digest());
    const name = previewName(token);
    const sandboxId = `box-${making.replaceAll(/\W/g, '-')}-${at}`;
    const { service, route } = previewManifests({
      name,
      namespace: previewSettings.namespace,
      gateway: { name: previewSettings.gatewayName, namespace: previewSettings.gatewayNamespace },
      hostname: previewHost(token, previewSettings.zoneSuffix),
      targetPort: 3000,
      runId: `run_${at}`,
      owner: 'alice',
      sandboxId,
      podName: `${sandboxId}-pod`,
      startedAt,
      expiresAt: inMinutes(Math.min(expires, maxUntil)),
      maxUntil: inMinutes(maxUntil),
      attempt: `planted-${at}.0`,
    });
    return {
      fate,
      name,
      token,
      sandboxId,
      service: only === 'route' ? undefined : spoilt(service as Manifest, spoilService),
      route:
        only === 'service'
          ? undefined
          : (stored) => {
              const made = route(stored ?? { uid: 'none', resourceVersion: '1' }) as Manifest;
              if (stored === undefined) delete made.metadata.ownerReferences;
              made.metadata.annotations[ANNOTATIONS.expiresAt] = formatTime(inMinutes(expires));
              made.metadata.labels[LABELS.dueSlot] = timeSlot(inMinutes(expires));
              return spoilt(made, (manifest) => spoilRoute?.(manifest, previewSettings.zoneSuffix));
            },
    };
  });
}

function without(annotation: string): Making {
  return {
    fate: 'stays',
    count: 50,
    expires: -20,
    spoilRoute: ({ metadata }) => delete metadata.annotations[annotation],
  };
}

function disown({ metadata }: Manifest): void {
  delete metadata.labels[LABELS.managedBy];
}

/** Without a selector no controller handles the Service: it would create three objects for each. */
function spoilt(manifest: Manifest, spoil: ((manifest: Manifest) => void) | undefined): Manifest {
  delete manifest.spec['selector'];
  spoil?.(manifest);
  return manifest;
}
