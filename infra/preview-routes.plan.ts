import { hasLabels, inNamespace, isNamed, quote } from '../constructs/admission-expressions.ts';
import {
  ANNOTATIONS,
  FIXED_ANNOTATIONS,
  PREVIEW_LABELS,
  PREVIEW_NAME,
  UPSTREAM_ORIGIN,
} from '../constructs/names.ts';
import { PREVIEW_TOKEN_PATTERN } from '../protocol/preview-words.ts';
import { PREVIEW_PORT_HEADER } from '../protocol/guest/previews-protocol.ts';
import { listenerGroup } from '../constructs/gateway-manifests.ts';
import { servedZones } from './gateway.plan.ts';
import type { StackConfig } from './stack-config-schema.ts';
import { isOurs, policyMetadata } from './expressions.ts';

/** Most clock skew between a function and the API server. */
const SKEW_SECONDS = 60;

/** RFC 3339 in UTC, as the functions write it. */
const TIME = String.raw`^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?Z$`;

/** The host of a preview up to its zone. */
const TOKEN = `^${PREVIEW_TOKEN_PATTERN}-preview[.]`;

/** The host of a preview by its name, likewise. A text of this length is no token. */
const NAME = '^[a-z][a-z0-9-]{1,24}[a-z0-9]-preview[.]';

/** A run's id. */
const RUN_ID = '^[A-Za-z0-9_-]{1,64}$';

/** A match `m` of every path and method. */
const isWhole = [
  `m.?path.?type.orValue('PathPrefix') == 'PathPrefix'`,
  `m.?path.?value.orValue('/') == '/'`,
  '!has(m.method)',
  'size(m.?queryParams.orValue([])) == 0',
].join(' && ');

/** A header match `h` of the preview's own Origin, on any port of the gateway. */
const isOwnOrigin = [
  `h.?type.orValue('Exact') == 'Exact'`,
  `h.name == 'Origin'`,
  `(h.value == 'https://' + variables.hosts[0] || h.value.startsWith('https://' + variables.hosts[0] + ':'))`,
].join(' && ');

/** The rule sets only allowed request headers, and adds none. */
function setsOnly(rule: 0 | 1, isAllowed: string): string {
  const filters = `variables.rules[${rule}].?filters.orValue([])`;
  return `${filters}.all(f, f.type != 'RequestHeaderModifier' || (size(f.?requestHeaderModifier.?add.orValue([])) == 0 && f.?requestHeaderModifier.?set.orValue([]).all(h, ${isAllowed})))`;
}

/**
 * A rule to the guest sets the header with the app's port, replacing a client's value, and nothing
 * else: another port would bypass the check of the preview's port.
 */
function guestRule(targetPort: string) {
  const isPort = `h.name == ${quote(PREVIEW_PORT_HEADER)} && h.value == ${targetPort}`;
  const filters = 'variables.rules[0].?filters.orValue([])';
  const sets = (f: string) => `${f}.?requestHeaderModifier.?set.orValue([])`;
  return {
    expression: `request.operation == 'UPDATE' || size(variables.rules) != 1 || (${[
      `variables.rules[0].?matches.orValue([]).all(m, ${isWhole} && size(m.?headers.orValue([])) == 0)`,
      setsOnly(0, isPort),
      `${filters}.exists(f, f.type == 'RequestHeaderModifier' && ${sets('f')}.exists(h, ${isPort}))`,
      `${filters}.all(f, f.type in ['RequestHeaderModifier', 'ResponseHeaderModifier'])`,
    ].join(' && ')})`,
    message: `foreign rule: a preview's one rule sets ${PREVIEW_PORT_HEADER} to its port, for every request, and nothing else`,
  };
}

function anyOf(expressions: readonly string[]): string {
  return `(${expressions.map((each) => `(${each})`).join(' || ')})`;
}

/**
 * Admission policy for preview routes of every client: a bug in a function, or its stolen
 * credentials, cannot publish another host, reach another port, outlive the hard cap or attach to
 * another Gateway.
 */
export function previewRoutesPlan(config: StackConfig) {
  const { namespaces, preview } = config;
  const annotation = (id: keyof typeof ANNOTATIONS) =>
    `variables.notes[?${quote(ANNOTATIONS[id])}].orValue('')`;
  const before = (id: keyof typeof ANNOTATIONS) =>
    `oldObject.?metadata.?annotations[?${quote(ANNOTATIONS[id])}].orValue('')`;
  const { allowedPortMin, allowedPortMax, maxLifetimeHours, upstream } = preview;
  const isGuest = upstream === 'guest';
  const zones = servedZones(config);
  const ofZone = (zone: string) => `variables.hosts[0].endsWith(${quote(`-preview.${zone}`)})`;
  const isHost = zones.map(({ zone }) =>
    [
      ofZone(zone),
      `variables.hosts[0].indexOf('.') == size(variables.hosts[0]) - size(${quote(`.${zone}`)})`,
    ].join(' && '),
  );
  // Without guests nothing keeps strangers out of a host that can be guessed.
  const isSecondHost = isGuest
    ? `size(variables.hosts) == 1 || (size(variables.hosts) == 2 && ${[
        // The rule for the own Origin names one host.
        'size(variables.rules) == 1',
        `variables.hosts[1].matches('${NAME}')`,
        `variables.hosts[1].substring(variables.hosts[1].indexOf('.')) == variables.hosts[0].substring(variables.hosts[0].indexOf('.'))`,
      ].join(' && ')})`
    : 'size(variables.hosts) == 1';
  const isSameSpec = [
    isGuest
      ? 'variables.hosts[0] == oldObject.spec.hostnames[0]'
      : 'object.spec.?hostnames == oldObject.spec.?hostnames',
    'object.spec.?rules == oldObject.spec.?rules',
  ].join(' && ');
  const isParent = zones.map(({ zone, gateway: { kind = 'Gateway', name, namespace, sectionName } }) =>
    [
      ofZone(zone),
      `p.?group.orValue('gateway.networking.k8s.io') == ${quote(listenerGroup(kind))}`,
      `p.?kind.orValue('Gateway') == ${quote(kind)}`,
      `p.name == ${quote(name)}`,
      `p.?namespace.orValue(request.namespace) == ${quote(namespace)}`,
      `p.?sectionName.orValue(${quote(sectionName)}) == ${quote(sectionName)}`,
    ].join(' && '),
  );

  return {
    metadata: policyMetadata(namespaces, 'preview-routes'),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: inNamespace(namespaces.previews, {
        apiGroups: ['gateway.networking.k8s.io'],
        resources: ['httproutes'],
        operations: ['CREATE', 'UPDATE'],
      }),
      matchConditions: [
        {
          name: 'a-preview-or-by-the-functions',
          expression: `(${isOurs(namespaces)}) || (${hasLabels('object', PREVIEW_LABELS)})`,
        },
        // Updates of an object in deletion only remove finalizers, and must not be blocked.
        { name: 'not-being-deleted', expression: '!has(object.metadata.deletionTimestamp)' },
      ],
      variables: [
        { name: 'notes', expression: 'object.?metadata.?annotations.orValue({})' },
        { name: 'hosts', expression: 'object.spec.?hostnames.orValue([])' },
        { name: 'parents', expression: 'object.spec.?parentRefs.orValue([])' },
        { name: 'rules', expression: 'object.spec.?rules.orValue([])' },
        {
          name: 'hasTimes',
          expression: ['startedAt', 'expiresAt', 'maxUntil']
            .map((id) => `${annotation(id as keyof typeof ANNOTATIONS)}.matches('${TIME}')`)
            .join(' && '),
        },
      ],
      validations: [
        {
          expression: hasLabels('object', PREVIEW_LABELS),
          message: 'not a preview: the functions make and change no other route',
        },
        {
          expression: isNamed(PREVIEW_NAME),
          message: "foreign name: a preview's route is named preview-{20 hex}",
        },
        {
          expression: [
            'size(variables.hosts) >= 1',
            `variables.hosts[0].matches('${TOKEN}')`,
            anyOf(isHost),
            `(${isSecondHost})`,
          ].join(' && '),
          message: `foreign hostname: a preview has one, ${zones.map(({ zone }) => `{token}-preview.${zone}`).join(' or ')}${isGuest ? ', and may have a name in the same zone' : ''}`,
        },
        {
          // Detached while its sandbox is stopped: its visitors then get the fallback.
          expression: `size(variables.hosts) == 0 || (request.operation == 'UPDATE' && size(variables.parents) == 0) || (size(variables.parents) == 1 && variables.parents.all(p, ${anyOf(isParent)}))`,
          message: `another parent: a preview hangs on ${zones.map(({ gateway }) => `${gateway.namespace}/${gateway.name}, listener ${gateway.sectionName}`).join(', or ')}, alone`,
        },
        {
          expression: `${annotation('targetPort')}.matches('^[1-9][0-9]{0,4}$') && int(${annotation('targetPort')}) >= ${allowedPortMin} && int(${annotation('targetPort')}) <= ${allowedPortMax}`,
          message: `port out of range: a preview exposes ${allowedPortMin} to ${allowedPortMax}`,
        },
        {
          // The reaper ignores unreadable routes, which would never expire.
          expression: [
            `${annotation('runId')}.matches('${RUN_ID}')`,
            ...(['owner', 'sandboxId', 'podName'] as const).map((id) => `${annotation(id)} != ''`),
          ].join(' && '),
          message: 'unreadable notes: a preview says its run, its owner, its sandbox and its pod',
        },
        {
          expression: 'variables.hasTimes',
          message: 'unreadable times: started-at, expires-at and max-until are RFC 3339 in UTC',
        },
        {
          expression: `!variables.hasTimes || timestamp(${annotation('expiresAt')}) <= timestamp(${annotation('maxUntil')})`,
          message: 'expiry past max-until',
        },
        {
          expression: `!variables.hasTimes || timestamp(${annotation('maxUntil')}) <= timestamp(object.metadata.creationTimestamp) + duration('${maxLifetimeHours * 3600 + SKEW_SECONDS}s')`,
          message: `max-until past the longest life of ${maxLifetimeHours} hours`,
        },
        {
          expression: [
            // A single rule leads to the guest, or is from a version before the second rule; its
            // spec cannot change.
            isGuest
              ? 'size(variables.rules) in [1, 2]'
              : `(size(variables.rules) == 2 || (request.operation == 'UPDATE' && size(variables.rules) == 1))`,
            `variables.rules.all(r, size(r.?backendRefs.orValue([])) == 1 && r.backendRefs.all(b, ${[
              `b.?group.orValue('') == ''`,
              `b.?kind.orValue('Service') == 'Service'`,
              'b.name == object.metadata.name',
              '!has(b.namespace)',
              'b.?port.orValue(0) == 80',
              'size(b.?filters.orValue([])) == 0',
            ].join(' && ')}))`,
          ].join(' && '),
          message: 'foreign backend: a preview must lead to port 80 of the Service with its name',
        },
        {
          // CSRF, WebSocket hijacking: only the preview's own Origin may be rewritten, or pages of
          // other sites could pass for the preview's.
          expression: `request.operation == 'UPDATE' || size(variables.rules) ${isGuest ? '< 2' : '!= 2'} || size(variables.hosts) != 1 || (${[
            'size(variables.rules[0].?matches.orValue([])) == 1',
            `variables.rules[0].matches.all(m, ${isWhole} && size(m.?headers.orValue([])) == 1 && m.headers.all(h, ${isOwnOrigin}))`,
            `variables.rules[1].?matches.orValue([]).all(m, ${isWhole} && size(m.?headers.orValue([])) == 0)`,
            setsOnly(0, `h.name == 'Origin' && h.value == ${quote(UPSTREAM_ORIGIN)}`),
            setsOnly(1, `h.name in ['X-Forwarded-Host', 'X-Forwarded-Proto']`),
          ].join(' && ')})`,
          message: "foreign rule: a preview rewrites its own Origin, https://{host}, and no other request's",
        },
        ...(isGuest ? [guestRule(annotation('targetPort'))] : []),
        {
          expression: `variables.rules.all(r, r.?filters.orValue([]).all(f, f.type in ['URLRewrite', 'RequestHeaderModifier', 'ResponseHeaderModifier']))`,
          message:
            'foreign filter: a preview rewrites its host and sets headers, and neither mirrors nor redirects',
        },
        {
          expression: `request.operation == 'CREATE' || (${isSameSpec} && ${FIXED_ANNOTATIONS.map((id) => `${annotation(id)} == ${before(id)}`).join(' && ')})`,
          message: `changed identity: of an existing preview only the expiry${isGuest ? ' and the name' : ''} moves, and its parent comes and goes`,
        },
      ],
    },
  };
}
