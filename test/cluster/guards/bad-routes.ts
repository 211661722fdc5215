import { LABELS } from '#constructs/names.ts';
import { at, type BadManifest, each, labelled, noted, oneMore, unlabelled } from './change.ts';

interface Names {
  /** The name of the route, and of its Service. */
  readonly name: string;
  readonly zone: string;
  readonly apiHost: string;
  readonly hostname: string;
  readonly functionsNamespace: string;
}

const NEVER = '2999-01-01T00:00:00Z';

/**
 * Routes that must be refused in the previews' namespace. A function with a bug, or in the wrong
 * hands, might create them.
 */
export function badRoutes({ name, zone, apiHost, hostname, functionsNamespace }: Names): BadManifest[] {
  const parent = (more: object) => each('parentRefs', (parentRef) => ({ ...parentRef, ...more }));
  const rule = (more: object) => each('rules', (only) => ({ ...only, ...more }));
  const backend = (more: object) => rule({ backendRefs: [{ name, port: 80, ...more }] });
  const mirror = { type: 'RequestMirror', requestMirror: { backendRef: { name, port: 80 } } };
  const own = { type: 'ExtensionRef', extensionRef: { group: 'evil.test', kind: 'Plugin', name: 'tap' } };
  const redirect = { type: 'RequestRedirect', requestRedirect: { hostname: 'evil.test' } };
  const origin = (value: string, type = 'Exact') => [
    { path: { type: 'PathPrefix', value: '/' }, headers: [{ type, name: 'Origin', value }] },
  ];
  const rewrite = (header: string, value: string) => ({
    type: 'RequestHeaderModifier',
    requestHeaderModifier: { set: [{ name: header, value }] },
  });
  const hosts = (...hostnames: string[]) => at('spec.hostnames', hostnames);
  return [
    ['a host of another zone', hosts('swift-preview.evil.test'), 'foreign hostname'],
    ['a host that ends like the zone', hosts(`swift-preview.evil${zone}`), 'foreign hostname'],
    ['a host below the zone by another label', hosts(`a.b-preview.${zone}`), 'foreign hostname'],
    ['a host of the zone that is no preview', hosts(`console.${zone}`), 'foreign hostname'],
    ['a preview without a token', hosts(`preview.${zone}`), 'foreign hostname'],
    [
      'a host with a token that is too short',
      hosts(`calm-blue-otter-abc-preview.${zone}`),
      'foreign hostname',
    ],
    ['a host without words', hosts(`${'a'.repeat(26)}-preview.${zone}`), 'foreign hostname'],
    ['the apex of the zone', hosts(zone), 'foreign hostname'],
    ['the host of the API', hosts(apiHost), 'foreign hostname'],
    ['the wildcard of the zone', hosts(`*.${zone}`), 'foreign hostname'],
    ['a wildcard below the zone', hosts(`*.a-preview.${zone}`), 'foreign hostname'],
    ['a second host', hosts(hostname, 'evil.test'), 'foreign hostname'],
    ['a name in another zone', hosts(hostname, 'shop-demo-preview.evil.test'), 'foreign hostname'],
    ['a name below the zone by another label', hosts(hostname, `shop.a-preview.${zone}`), 'foreign hostname'],
    ['a token as its name', hosts(hostname, hostname.replace(/^./, 'x')), 'foreign hostname'],
    ['a name alone', hosts(`shop-demo-preview.${zone}`), 'foreign hostname'],
    ['two names', hosts(hostname, `shop-preview.${zone}`, `demo-preview.${zone}`), 'foreign hostname'],
    ['no host, which would take every one', at('spec.hostnames', undefined), 'foreign hostname'],

    ['another Gateway', parent({ name: 'other' }), 'another parent'],
    ['a Gateway of another namespace', parent({ namespace: 'default' }), 'another parent'],
    ['a Gateway in its namespace', parent({ namespace: undefined }), 'another parent'],
    ['the listener of the API', parent({ sectionName: 'api' }), 'another parent'],
    ['a parent that is no Gateway', parent({ kind: 'Service', group: '' }), 'another parent'],
    ['a second parent', oneMore('parentRefs', { name: 'other' }), 'another parent'],
    ['no parent', at('spec.parentRefs', []), 'another parent'],

    ['a port below the range', noted('targetPort', '2999'), 'port out of range'],
    ['a port above the range', noted('targetPort', '9001'), 'port out of range'],
    ['a port past all ports', noted('targetPort', '99999'), 'port out of range'],
    ['a negative port', noted('targetPort', '-3000'), 'port out of range'],
    ['a port that is no number', noted('targetPort', '3000; --'), 'port out of range'],
    ['no port', noted('targetPort', undefined), 'port out of range'],

    ['no run', noted('runId', undefined), 'unreadable notes'],
    ['a run with an invalid id', noted('runId', 'run 1'), 'unreadable notes'],
    ['no owner', noted('owner', undefined), 'unreadable notes'],
    ['no sandbox', noted('sandboxId', undefined), 'unreadable notes'],
    ['no pod', noted('podName', ''), 'unreadable notes'],

    ['an expiry past max-until', noted('expiresAt', NEVER), 'expiry past max-until'],
    ['an expiry that cannot be read', noted('expiresAt', 'never'), 'unreadable times'],
    ['an expiry in another time zone', noted('expiresAt', '2026-01-01T00:00:00+14:00'), 'unreadable times'],
    ['no expiry', noted('expiresAt', undefined), 'unreadable times'],
    ['no start', noted('startedAt', undefined), 'unreadable times'],
    ['no max-until', noted('maxUntil', undefined), 'unreadable times'],
    ['a time that is in no calendar', noted('expiresAt', '2026-13-41T00:00:00Z'), 'expression'],
    [
      'a max-until past the longest life',
      noted('maxUntil', NEVER),
      'max-until past the longest life of 8 hours',
    ],

    ['the Service of another preview', backend({ name: 'porthole' }), 'foreign backend'],
    ['a Service of another namespace', backend({ namespace: functionsNamespace }), 'foreign backend'],
    ['a backend that is no Service', backend({ group: 'evil.test', kind: 'Bucket' }), 'foreign backend'],
    ['another port of the Service', backend({ port: 81 }), 'foreign backend'],
    ['a backend with a filter', backend({ filters: [mirror] }), 'foreign backend'],
    [
      'a second backend',
      rule({
        backendRefs: [
          { name, port: 80 },
          { name: 'tap', port: 80 },
        ],
      }),
      'foreign backend',
    ],
    ['no backend', rule({ backendRefs: [] }), 'foreign backend'],
    ['a second rule', oneMore('rules', { backendRefs: [{ name, port: 80 }] }), 'foreign backend'],
    ['no rule', at('spec.rules', undefined), 'foreign backend'],
    ['no rule for its own Origin', rule({ matches: undefined }), 'foreign rule'],
    [
      'an Origin of another site taken for its own',
      rule({ matches: origin('https://evil.test') }),
      'foreign rule',
    ],
    ['its own Origin in plain HTTP', rule({ matches: origin(`http://${hostname}`) }), 'foreign rule'],
    ['a pattern of Origins', rule({ matches: origin('.*', 'RegularExpression') }), 'foreign rule'],
    ['every Origin rewritten', rule({ filters: [rewrite('Origin', 'http://localhost')] }), 'foreign rule'],
    ['another header', rule({ filters: [rewrite('Authorization', 'x')] }), 'foreign rule'],
    ['a redirect', rule({ backendRefs: [], filters: [redirect] }), 'foreign backend'],
    ['a mirror of the traffic', rule({ filters: [mirror] }), 'foreign filter'],
    ["a filter of the gateway's own", rule({ filters: [own] }), 'foreign filter'],

    ["a name that is no preview's", at('metadata.name', 'preview-of-mine'), 'foreign name'],
    ['the name of the API', at('metadata.name', 'porthole-api'), 'foreign name'],
    [
      'a name that the API server makes up',
      at('metadata.generateName', `preview-${'0'.repeat(15)}`),
      'foreign name',
    ],
    ['no label of a preview', unlabelled, 'not a preview'],
    ['the label of another manager', labelled(LABELS.managedBy, 'helm'), 'not a preview'],
    ['the label of a sandbox', labelled(LABELS.component, 'sandbox'), 'not a preview'],
  ];
}
