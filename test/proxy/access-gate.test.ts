import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AccessGate, isOutdated, openUrl, type TicketClaims } from '#proxy/access/access-gate.ts';
import type { AccessPolicy, PreviewTarget } from '#proxy/preview-target.ts';

const HOST = 'shop-preview.localhost:8787';
const NOON = 1_800_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const LIMITED: AccessPolicy = { level: 'owner', epoch: 3, revoked: ['lnk_gone'] };
const target = (access?: AccessPolicy, token = 'shop'): PreviewTarget => ({
  runId: 'run_1',
  sandboxId: 's1',
  targetPort: 3000,
  token,
  access,
});

/** The kinds of requests that browsers and programs send. */
const REQUESTS = {
  'a navigation': { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  'a navigation of an old browser': { accept: 'text/html,*/*' },
  'a frame': { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
  'a fetch': { 'sec-fetch-mode': 'cors', accept: 'text/html' },
  'a POST': { ':method': 'POST', 'sec-fetch-mode': 'navigate' },
  'a HEAD': { ':method': 'HEAD', 'sec-fetch-mode': 'navigate' },
  'a prefetch': { 'sec-fetch-mode': 'navigate', 'sec-purpose': 'prefetch;prerender' },
  'an event stream': { 'sec-fetch-mode': 'cors', accept: 'text/event-stream' },
  'a WebSocket': { 'sec-fetch-mode': 'websocket', upgrade: 'websocket' },
  'a service worker': { 'sec-fetch-mode': 'same-origin', 'sec-fetch-dest': 'serviceworker' },
  'a program': { accept: '*/*' },
} as const;
/** The only ones that are sent to the sign-in. */
const OPENS: ReadonlySet<string> = new Set(['a navigation', 'a navigation of an old browser']);

let now = NOON;
let issued = 0;
let gate: AccessGate;
beforeEach(() => {
  now = NOON;
  gate = new AccessGate({
    read(kind, text) {
      const [signedAs, claims] = text.split(' ');
      return signedAs === kind ? (JSON.parse(claims ?? '') as TicketClaims) : undefined;
    },
    openUrl: ({ token }, path) => openUrl('http://localhost:8787/open', token, path),
    now: () => now,
  });
});

function ticket(change: Partial<TicketClaims> = {}, kind = 'enter'): string {
  const claims: TicketClaims = {
    host: HOST,
    id: `t${(issued += 1)}`,
    expiresAt: now + MINUTE,
    until: now + 12 * HOUR,
    epoch: LIMITED.epoch,
    about: 'about',
    ...change,
  };
  return `${kind} ${JSON.stringify(claims)}`;
}

function request(headers: Readonly<Record<string, string>>, url = '/a?b=c'): IncomingMessage {
  const req = new IncomingMessage(new Socket());
  const { ':method': method = 'GET', ...rest } = headers;
  return Object.assign(req, { method, url, headers: rest });
}

/** The `Cookie` header of a browser that has entered. */
function entered(change: Partial<TicketClaims> = {}, at = target(LIMITED)): string {
  const result = gate.enter(ticket(change), at, HOST);
  if (typeof result !== 'object') throw new Error(`not entered: ${result}`);
  return result.cookie.split(';', 1)[0] ?? '';
}

const decide = (headers: Readonly<Record<string, string>>, access?: AccessPolicy, host = HOST) =>
  gate.decide(request(headers), target(access), host);

/** What a caller shows, and whether it passes at each level below `link`. */
const CALLERS: Readonly<Record<string, readonly [() => Record<string, string>, passes: boolean]>> = {
  nothing: [() => ({}), false],
  'a forged cookie': [() => ({ cookie: '__Host-porthole-view=forged' }), false],
  'a visit': [() => ({ cookie: entered() }), true],
  'a visit among other cookies': [() => ({ cookie: `a=b; ${entered()};c=d` }), true],
  'a visit after white space that browsers take for a name': [
    () => ({ cookie: `a=b;\u00a0${entered()}` }),
    false,
  ],
  'two visits': [() => ({ cookie: `${entered()}; ${entered()}` }), false],
  'a visit and a cookie that the app has set': [
    () => ({ cookie: `__Host-porthole-view=x; ${entered()}; __Host-porthole-pass=x` }),
    true,
  ],
  'a pass that the app has set': [() => ({ cookie: '__Host-porthole-pass=x' }), false],
  'a visit of a sibling': [() => ({ cookie: entered({}, target(LIMITED, 'other')) }), false],
  'a pass': [() => ({ 'x-porthole-pass': ticket({}, 'pass') }), true],
  'a pass in a cookie': [() => ({ cookie: `__Host-porthole-pass=${ticket({}, 'pass')}` }), true],
  'a pass for another host': [() => ({ 'x-porthole-pass': ticket({ host: 'b' }, 'pass') }), false],
  'a ticket as a pass': [() => ({ 'x-porthole-pass': ticket() }), false],
  'a session of the console': [() => ({ cookie: 'porthole-session=x', authorization: 'Bearer x' }), false],
};

describe('the decision about a request', () => {
  const table = Object.keys(REQUESTS).flatMap((kind) =>
    Object.keys(CALLERS).flatMap((caller) =>
      ['owner', 'org', 'signed_in', 'password', 'link'].map((level) => [kind, caller, level] as const),
    ),
  );

  test.each(table)('for %s with %s at %s', (kind, caller, level) => {
    const [show, passes] = CALLERS[caller] as (typeof CALLERS)[string];
    const shown = show();
    const answer = decide({ ...REQUESTS[kind as keyof typeof REQUESTS], ...shown }, { ...LIMITED, level });
    // Who shows a pass in a header is a program.
    const mayOpen = OPENS.has(kind) && shown['x-porthole-pass'] === undefined;
    expect(answer.kind).toBe(level === 'link' || passes ? 'passes' : mayOpen ? 'opens' : 'refused');
  });

  test('passes everything where no access is set', () => {
    expect(decide(REQUESTS['a program'])).toEqual({ kind: 'passes' });
  });

  test('sends a navigation away with its path in the fragment, and without the token', () => {
    const answer = decide(REQUESTS['a navigation'], LIMITED);
    expect(answer).toEqual({
      kind: 'opens',
      location: 'http://localhost:8787/open?preview=shop#path=%2Fa%3Fb%3Dc',
    });
  });
});

describe('a ticket', () => {
  test.each([
    ['of another host', { host: 'other-preview.localhost:8787' }],
    ['of an earlier epoch', { epoch: 2 }],
    ['of a later epoch', { epoch: 4 }],
    ['that expired more than a minute ago', { expiresAt: NOON - MINUTE }],
    ['of a visit that is over', { until: NOON }],
    ['of a revoked link', { link: 'lnk_gone' }],
  ])('is refused %s', (_, change) => {
    expect(gate.enter(ticket(change), target(LIMITED), HOST)).toBeUndefined();
  });

  test('is accepted with clocks a minute apart, and whatever the case of the host', () => {
    expect(gate.enter(ticket({ expiresAt: NOON - MINUTE + 1 }), target(LIMITED), HOST)).toBeDefined();
    expect(gate.enter(ticket(), target(LIMITED), HOST.toUpperCase())).toBeDefined();
  });

  test('begins one visit, and no second one as long as it could be valid', () => {
    const once = ticket();
    expect(gate.enter(once, target(LIMITED), HOST)).toBeDefined();
    for (const later of [0, MINUTE, 2 * MINUTE - 1, 2 * MINUTE]) {
      now = NOON + later;
      expect(gate.enter(once, target(LIMITED), HOST)).toBeUndefined();
    }
  });

  test('is refused rather than forgotten when too many are in use', () => {
    const first = ticket();
    gate.enter(first, target(LIMITED), HOST);
    for (let at = 1; at < 10_000; at += 1) gate.enter(ticket(), target(LIMITED), HOST);
    expect(gate.enter(ticket(), target(LIMITED), HOST)).toBeUndefined();
    expect(gate.enter(first, target(LIMITED), HOST)).toBeUndefined();
    now += 2 * MINUTE;
    expect(gate.enter(ticket(), target(LIMITED), HOST)).toBeDefined();
  });

  test('of one preview is accepted although too many of another are in use', () => {
    const other = target(LIMITED, 'other');
    for (let at = 0; at < 10_000; at += 1) gate.enter(ticket(), other, HOST);
    expect(gate.enter(ticket(), other, HOST)).toBeUndefined();
    expect(gate.enter(ticket(), target(LIMITED), HOST)).toBeDefined();
  });

  test('is not needed at the level link', () => {
    expect(gate.enter('anything', target({ ...LIMITED, level: 'link' }), HOST)).toBe('open');
  });
});

describe('a visit', () => {
  test('has a cookie that only its host can set or read', () => {
    const result = gate.enter(ticket(), target(LIMITED), HOST);
    expect(result).toEqual({
      cookie: expect.stringMatching(
        /^__Host-porthole-view=[\w-]{43}; Path=\/; Max-Age=3600; Secure; HttpOnly; SameSite=None; Partitioned$/,
      ),
    });
  });

  test('is renewed by use, ends an hour after it, and at its end in any case', () => {
    const cookie = entered();
    for (let hours = 0; hours < 11; hours += 1) {
      now += HOUR - 1;
      expect(decide({ cookie }, LIMITED)).toMatchObject({ kind: 'passes', setCookie: expect.any(String) });
      expect(decide({ cookie }, LIMITED)).not.toHaveProperty('setCookie');
    }
    const idle = entered();
    now += HOUR;
    expect(decide({ cookie: idle }, LIMITED).kind).toBe('refused');
    expect(decide({ cookie }, LIMITED).kind).toBe('refused');
  });

  test.each([
    ['an epoch', { ...LIMITED, epoch: 4 }],
    ['a revocation of its link', { ...LIMITED, revoked: ['lnk_gone', 'lnk_1'] }],
  ])('ends with %s, also for a request that lasts', (_, access) => {
    const cookie = entered({ link: 'lnk_1' });
    const decision = decide({ cookie }, LIMITED);
    const visit = decision.kind === 'passes' ? decision.visit : undefined;
    expect(gate.isAllowed(visit, LIMITED)).toBe(true);
    expect(gate.isAllowed(visit, access)).toBe(false);
    expect(decide({ cookie }, access).kind).toBe('refused');
    expect(decide({ cookie }, LIMITED).kind).toBe('refused');
  });

  test('in use is displaced by no visit of another preview, and by none that came another way', () => {
    const [bob, dave] = [entered({ level: 'org' }), entered({ link: 'lnk_1', level: 'link' })];
    now += 1;
    for (let at = 0; at < 2_000; at += 1) entered({ level: 'org' }, target(LIMITED, 'other'));
    for (let at = 0; at < 999; at += 1) entered({ link: 'lnk_2', level: 'link' });
    // Used last, and not the one that came first.
    now += 1;
    expect(decide({ cookie: dave }, LIMITED).kind).toBe('passes');
    now += 1;
    for (let at = 0; at < 998; at += 1) entered({ link: 'lnk_2', level: 'link' });
    expect(decide({ cookie: dave }, LIMITED).kind).toBe('passes');
    now += 1;
    for (let at = 0; at < 2_000; at += 1) entered({ link: 'lnk_2', level: 'link' });
    expect(decide({ cookie: dave }, LIMITED).kind).toBe('refused');
    expect(decide({ cookie: bob }, LIMITED).kind).toBe('passes');
  });

  test('is needed by requests that began when the preview was open to everyone', () => {
    expect(gate.isAllowed(undefined, { ...LIMITED, level: 'link' })).toBe(true);
    expect(gate.isAllowed(undefined, LIMITED)).toBe(false);
  });
});

describe('another preview of the run', () => {
  const REACHED: Readonly<Record<string, readonly string[]>> = {
    owner: ['owner', 'org', 'signed_in', 'password', 'link'],
    org: ['org', 'signed_in', 'link'],
    signed_in: ['signed_in', 'link'],
    // Another password, and a link of another preview.
    password: ['link'],
    link: ['link'],
  };
  const levels = Object.keys(REACHED);

  test.each(levels)('is reached by a visitor at %s as at its own entrance', (level) => {
    const decision = decide({ cookie: entered({ level }) }, LIMITED);
    const visit = decision.kind === 'passes' ? decision.visit : undefined;
    expect(levels.filter((each) => gate.reaches(visit, { ...LIMITED, level: each }))).toEqual(REACHED[level]);
  });

  test('is not reached without a visit, or with a ticket of an earlier version, unless it is open', () => {
    const decision = decide({ cookie: entered() }, LIMITED);
    const visit = decision.kind === 'passes' ? decision.visit : undefined;
    for (const each of [visit, undefined]) {
      expect(levels.filter((level) => gate.reaches(each, { ...LIMITED, level }))).toEqual(['link']);
      expect(gate.reaches(each, undefined)).toBe(true);
    }
  });
});

test.each([
  [undefined, undefined, false],
  [undefined, LIMITED, true],
  [{ ...LIMITED, epoch: 2, revoked: ['a', 'b'] }, LIMITED, true],
  [{ ...LIMITED, revoked: [] }, LIMITED, true],
  [LIMITED, LIMITED, false],
  [{ ...LIMITED, revoked: ['lnk_gone', 'b'] }, LIMITED, false],
  [{ ...LIMITED, epoch: 4, revoked: [] }, LIMITED, false],
])('takes %j after %j for outdated: %s', (next, known, expected) => {
  expect(isOutdated(next, known)).toBe(expected);
});
