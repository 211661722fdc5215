import { expect, test } from '@jest/globals';
import { unserved } from '#adapters/kubernetes/gateway-doctor/await-route.ts';
import { factsOf } from '#adapters/kubernetes/gateway-doctor/controllers.ts';
import { timeoutsFinding } from '#adapters/kubernetes/gateway-doctor/timeouts-finding.ts';

const target = { host: '203.0.113.7', port: 443, hostname: 'doctor.preview.test' };
const accepted = [
  { type: 'Accepted', status: 'True' },
  { type: 'ResolvedRefs', status: 'True' },
];

test.each([
  [
    'no controller',
    [],
    'answers 404',
    /^no controller has accepted it; the gateway at 203\.0\.113\.7:443 answers 404$/,
    /start the controller/,
  ],
  [
    'a namespace that the listener does not admit',
    [{ type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners', message: 'not admitted' }],
    'answers 404',
    /^refused: NotAllowedByListeners: not admitted$/,
    /admit namespace porthole in allowedRoutes/,
  ],
  [
    'a filter that the controller does not know',
    [{ type: 'Accepted', status: 'False', reason: 'UnsupportedValue', message: 'filter' }],
    'answers 500',
    /^refused: UnsupportedValue: filter$/,
    /remove what the controller refuses/,
  ],
  [
    'an address that this machine does not reach',
    accepted,
    'does not answer (ETIMEDOUT)',
    /ETIMEDOUT/,
    /set --address/,
  ],
  [
    'pods that the gateway does not reach',
    accepted,
    'answers 503',
    /^accepted, but .* 503$/,
    /network policies/,
  ],
])('says what to change for %s', (_name, conditions, last, detail, change) => {
  const finding = unserved(conditions, last, target, 'porthole');
  expect(finding.ok).toBe(false);
  expect(finding.detail).toMatch(detail);
  expect(finding.change).toMatch(change);
});

const REPORTED = ['HTTPRouteRequestTimeout'];
const whole = { ms: 35_200, isWhole: true };

test.each([
  [
    'traefik.io/gateway-controller',
    { silence: whole },
    true,
    /^a silent answer lasted 35 s, and Traefik has no limit/,
  ],
  [
    'example.com/new',
    { silence: whole, supported: REPORTED },
    true,
    /the class reports HTTPRouteRequestTimeout$/,
  ],
  ['example.com/new', { silence: whole }, false, /does not report HTTPRouteRequestTimeout$/],
  ['example.com/new', { silence: { ms: 7_200_100, isWhole: true } }, true, /^a silent answer lasted 7200 s$/],
  ['gateway.nginx.org/nginx-gateway-controller', { silence: whole }, false, /60 s of silence/],
  ['networking.gke.io/gateway', { silence: { ms: 30_100, isWhole: false } }, false, /ended after 30 s$/],
  ['example.com/new', { silence: whole, supported: REPORTED, isStored: false }, false, /does not store/],
  ['example.com/new', {}, false, /^not measured/],
])('knows whether answers of %s may take 2 h: %j', (controller, facts, ok, detail) => {
  const finding = timeoutsFinding({
    isStored: true,
    supported: [],
    controller: factsOf(controller),
    ...facts,
  });
  expect(finding.ok).toBe(ok);
  expect(finding.detail).toMatch(detail);
  expect(finding.change === undefined).toBe(ok);
});
