import type { PageObservation, PageVisit, Picture } from '#core/pages/page-browser.ts';

const PICTURE: Picture = {
  mediaType: 'image/png',
  width: 1,
  height: 1,
  base64: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
};

/** A visit with every field. */
export const VISIT: PageVisit = {
  origin: 'http://a-preview.test:8443',
  path: '/login?next=1',
  siblings: [{ origin: 'http://b-preview.test:8443', port: 4000 }],
  viewport: { width: 1_280, height: 800, scale: 1, mobile: false },
  steps: [
    { action: 'goto', path: '/' },
    { action: 'click', selector: '#go' },
    { action: 'fill', selector: '#who', value: 'Ada' },
    { action: 'press', key: 'Enter' },
    { action: 'wait', selector: '#done' },
    { action: 'wait', text: 'Done' },
    { action: 'wait', milliseconds: 10 },
  ],
  waitFor: { text: 'Done' },
  picture: { fullPage: true },
  previous: PICTURE,
  point: { x: 1.5, y: 2 },
};

const PLACE = { file: 'src/main.ts', line: 3, column: null };

/** An observation with every field. */
export const OBSERVATION: PageObservation = {
  status: 200,
  navigationError: null,
  gateway: 'nothing_listens',
  redirects: [{ status: 302, url: '/' }],
  url: '/login',
  contentType: 'text/html',
  console: [{ level: 'error', text: 'no', place: PLACE, byPage: true }],
  errors: [{ message: 'no', frames: [{ ...PLACE, function: 'main' }] }],
  failed: [
    {
      method: 'GET',
      url: '/api',
      type: 'fetch',
      status: 500,
      reason: 'status',
      detail: 'x',
      initiator: null,
      outcome: 'missing',
    },
  ],
  overlays: [{ framework: 'Vite', message: 'no', place: null }],
  sockets: [{ url: '/', state: 'open', hotReload: true, isReplaced: false }],
  pending: ['/slow'],
  facts: {
    title: 'App',
    text: 'Hello',
    textLength: 5,
    media: 0,
    controls: 1,
    clippedText: 0,
    clippedBy: null,
    coveredBy: 'div.veil',
    emptyMount: null,
    loading: false,
    elements: 9,
    truncated: false,
  },
  sight: {
    drawn: 0.1,
    lengths: { inView: 5, below: 0, outside: 0, outsideMain: 0, clipped: 0, hidden: 0 },
    controls: 1,
    hidden: { element: 'div.tab', by: 'display' },
    outside: 'p',
    clippedBy: 'div',
    below: 900,
    spinner: { element: 'i.turn', isOver: true, isMarked: true, share: 0.01 },
    isMountFlat: false,
    unreadable: [{ scheme: 'dark', share: 0.5, headings: 1 }],
    cover: { element: 'div.veil', isOpaque: true, takesInput: false },
    structure: {
      heading: 'Hello',
      sample: 'Hello',
      code: '',
      comments: '',
      links: 1,
      namedLinks: 0,
      controls: 1,
    },
  },
  outline: '- text: Hello',
  accessibility: [{ rule: 'image-alt', impact: 'critical', help: 'no', count: 1, elements: ['img'] }],
  timings: { ttfbMs: 1.5, fcpMs: null, lcpMs: null, loadMs: 9 },
  interruption: 'time',
  blocked: { dialog: 2 },
  failedStep: { step: 1, reason: 'no', nearest: ['button "Go"'] },
  picture: PICTURE,
  thumbnail: PICTURE,
  difference: {
    changedPixels: 1,
    changedRatio: 0.5,
    areas: [{ x: 0, y: 0, width: 1, height: 1 }],
    picture: PICTURE,
  },
  element: { selector: '#go', role: 'button', name: 'Go', component: 'Go', place: PLACE, picture: PICTURE },
};
