// Apps that work, with failures that they handle, and words that sound like faults.
import {
  app,
  html,
  json,
  page,
  redirect,
  SANS,
  script,
  style,
  svg,
  text,
  type Answer,
  type App,
  type Handler,
} from './answers.ts';

const DOT = svg(
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><circle cx="20" cy="20" r="18" fill="teal"/></svg>',
);
/** A WAV file of 0.1 s. */
const SILENCE = Buffer.concat([
  Buffer.from(
    '524946464403000057415645666d74201000000001000100401f0000401f0000010008006461746120030000',
    'hex',
  ),
  Buffer.alloc(800, 128),
]);
const MAIN =
  '<main><h1>Orders</h1><p>Three orders are open, and one is late.</p><button>New order</button></main>';
const first = (answers: readonly Answer[]): Handler => {
  let count = 0;
  return () => {
    count += 1;
    return answers[Math.min(count, answers.length) - 1];
  };
};
const TRACE = `TypeError: Cannot read properties of undefined (reading 'total')
    at sum (/srv/app/cart.js:14:22)
    at render (/srv/app/page.js:80:5)`;

export const apps: Readonly<Record<string, App>> = {
  landing: app(
    'Acme',
    '<a href="#main" style="position:absolute;left:-9999px">Skip to content</a><nav><a href="#a">Product</a> <a href="#b">Prices</a></nav><main id="main"><h1>Ship on Fridays</h1><p>Deploys that you can undo.</p><button>Try it</button></main>',
    SANS,
  ),
  'water-log': app(
    'Hydration tracker',
    `<h1>Hydration</h1><p>1.4 of 2 litres today.</p><button>Add a glass</button><script>console.error('Hydration goal did not match yesterday: hydrating more'); console.warn('hydration failed? no')</script>`,
  ),
  'loading-docks': app('Loading docks', '<h1>Loading dock 4</h1><p>Free since 8:10</p>'),
  loader: app('Loader list', '<div class="loader loading"><h2>Front loader L90</h2><p>Rented</p></div>'),
  avatar: app(
    'Team',
    `<h1>Team</h1><div class="face"><img src="ada.png" alt="Ada" width="48" height="48" onerror="this.replaceWith('AL')"></div><p>Ada Lovelace, engineer</p>`,
  ),
  placeholder: {
    ...app(
      'Shop',
      `<h1>Shirts</h1><img src="shirt.png" alt="Shirt" onerror="this.onerror = null; this.src = 'dot.svg'"><p>29 euros</p><button>Buy</button>`,
    ),
    'dot.svg': DOT,
  },
  'hidden-image': app(
    'Recipe',
    `<h1>Soup</h1><img src="soup.jpg" alt="" onerror="this.style.display = 'none'"><p>Cut the leek and boil it for ten minutes.</p>`,
  ),
  'tracking-pixel': app(
    'Blog',
    '<h1>Blog</h1><p>A post on hedges and how to cut them.</p><img src="count.gif" width="1" height="1" alt="">',
  ),
  'css-image': app(
    'Hotel',
    '<h1>Hotel</h1><p>Twelve rooms by the lake.</p><a href="#book">Book</a>',
    '<style>body{background:#135 url(lake.jpg);color:#fff}</style>',
  ),
  'optional-module': {
    ...app(
      'Editor',
      `<h1>Editor</h1><textarea>Hello</textarea><script type="module">try { await import('./spellcheck.js') } catch { document.title = 'Editor (no spelling)' }</script>`,
    ),
  },
  analytics: app(
    'Store',
    `${MAIN}<script>const it = document.createElement('script'); it.src = 'insights/script.js'; it.onerror = () => console.log('no analytics'); document.head.append(it)</script>`,
  ),
  'script-fallback': {
    ...app(
      'Charts',
      `<h1>Charts</h1><p id="out">Sales</p><script src="cdn/chart.js" onerror="const it = document.createElement('script'); it.src = 'local/chart.js'; document.head.append(it)"></script>`,
    ),
    'local/chart.js': script("document.getElementById('out').textContent = 'Sales: 12, 14, 19'"),
  },
  retry: {
    ...app(
      'Stock',
      `<h1>Stock</h1><ul id="list"></ul><script>(async () => { for (let at = 0; at < 5; at += 1) { const it = await fetch('items'); if (it.ok) { list.innerHTML = (await it.json()).map((name) => '<li>' + name).join(''); return } await new Promise((go) => setTimeout(go, 300)) } })()</script>`,
    ),
    items: first([text('busy', { status: 503 }), json(['bolts', 'nuts'])]),
  },
  'socket-fallback': {
    ...app(
      'Ticker',
      `<h1>Ticker</h1><p id="price">Waiting for the first price</p><script>const poll = async () => { price.textContent = (await (await fetch('price')).json()).price }; const it = new WebSocket('ws://' + location.host + location.pathname + 'live'); it.onerror = () => { poll(); setInterval(poll, 500) }</script>`,
    ),
    price: json({ price: '104.20 euros' }),
  },
  events: {
    ...app(
      'Log',
      `<h1>Builds</h1><ol id="log"><li>Build 41 passed</li></ol><script>new EventSource('stream').onmessage = ({ data }) => { log.innerHTML += '<li>' + data }</script>`,
    ),
    stream: (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: Build 42 passed\n\n');
    },
  },
  'script-redirect': {
    ...app('Go', `<script>location.replace('login')</script>`),
    login: html(
      page(
        'Sign in',
        '<h1>Sign in</h1><form><input placeholder="Name"><input type="password"><button>Sign in</button></form>',
      ),
    ),
  },
  'login-redirect': {
    '': redirect('login'),
    login: html(
      page('Sign in', '<h1>Sign in</h1><form><label>Name <input></label><button>Sign in</button></form>'),
    ),
  },
  'reload-once': app(
    'Choice',
    `<h1>Language</h1><p id="it"></p><script>if (!sessionStorage.seen) { sessionStorage.seen = 1; location.reload() } it.textContent = 'English is chosen.'</script>`,
  ),
  dashboard: app(
    'Wall',
    '<h1>Deploys</h1><p>Twelve today, none failed.</p>',
    '<meta http-equiv="refresh" content="20">',
  ),
  skeletons: {
    ...app(
      'Mail',
      `<h1>Mail</h1><div id="list" aria-busy="true"><div class="skeleton"></div><div class="skeleton"></div></div><script>fetch('mails').then((it) => it.json()).then((all) => { list.removeAttribute('aria-busy'); list.innerHTML = all.map((each) => '<p>' + each).join('') })</script>`,
      '<style>.skeleton{height:40px;margin:8px;background:#ddd;animation:shine 1s infinite}@keyframes shine{50%{opacity:.5}}</style>',
    ),
    mails: (_, response) => {
      setTimeout(
        () =>
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end('["Lunch at noon?","Your parcel is here"]'),
        2_000,
      );
    },
  },
  'late-mount': {
    ...app(
      'Desk',
      '<a class="skip" href="#main">Skip to the main content</a><div id="root"></div><script type="module" src="app.js"></script>',
      '<style>.skip{position:absolute;height:1px;width:1px;overflow:hidden}</style>',
    ),
    'app.js': script(
      "setTimeout(() => { document.getElementById('root').innerHTML = '<main id=main><h1>Desk</h1><p>Four tickets wait for an answer.</p><button>Open the first</button></main>' }, 1800)",
    ),
  },
  'heavy-start': app(
    'Atlas',
    `<div id="root"></div><script>const until = performance.now() + 1200; while (performance.now() < until); root.innerHTML = '<h1>Atlas</h1><p>195 countries</p><input placeholder="Search">'</script>`,
  ),
  'heavy-later': app(
    'Solver',
    `<h1>Solver</h1><p id="it">Thinking about the next move</p><script>setTimeout(() => { const until = performance.now() + 1500; while (performance.now() < until); it.textContent = 'Move: e4' }, 50)</script>`,
  ),
  'audio-sources': {
    ...app(
      'Bird song',
      '<h1>The blackbird</h1><audio controls><source src="song.ogg"><source src="song.wav"></audio><p>Recorded in May, at dawn.</p>',
    ),
    'song.wav': { status: 200, headers: { 'content-type': 'audio/wav' }, body: SILENCE },
  },
  'font-fallback': app(
    'Magazine',
    '<h1>Magazine</h1><p>Issue 7 is on rivers.</p>',
    '<style>@font-face{font-family:Brand;src:url(brand.woff2)}body{font-family:Brand,Georgia,serif}</style>',
  ),
  'no-favicon': app(
    'Tiny',
    '<h1>Tiny</h1><p>No icon, no manifest, no map.</p>',
    '<link rel="icon" href="icon.png"><link rel="manifest" href="app.webmanifest">',
  ),
  'preload-unused': app(
    'Quick',
    MAIN,
    '<link rel="preload" as="style" href="old.css"><link rel="prefetch" href="next.js">',
  ),
  'style-fallback': {
    ...app(
      'Themes',
      MAIN,
      `<link rel="stylesheet" href="theme-new.css" onerror="this.href = 'theme.css'; this.onerror = null">`,
    ),
    'theme.css': style('body{font-family:sans-serif;background:#ffe}'),
  },
  autoplay: app(
    'Radio',
    `<h1>Radio</h1><button>Play</button><audio id="it"></audio><script>it.src = URL.createObjectURL(new Blob(['x'])); it.play()</script>`,
  ),
  session: {
    ...app(
      'Account',
      `${MAIN}<script>fetch('me').then((it) => { document.title = it.status === 401 ? 'Guest' : 'Account' })</script>`,
    ),
    me: json({ error: 'not signed in' }, { status: 401 }),
  },
  'polled-404': app(
    'Upload',
    `${MAIN}<p id="it"></p><script>setInterval(async () => { it.textContent = (await fetch('result')).ok ? 'Done' : 'No result so far' }, 300)</script>`,
  ),
  geolocation: app(
    'Nearby',
    `<h1>Nearby</h1><p id="it">Vienna</p><script>navigator.geolocation.getCurrentPosition(() => 0, () => { it.textContent = 'Vienna (no position)' })</script>`,
  ),
  'plain-text': { '': text('Hello World\n') },
  'json-object': { '': json({ name: 'orders', version: '1.4.0', routes: ['/orders', '/health'] }) },
  'json-empty': { '': json([]) },
  'json-health': { '': json({ status: 'ok', error: null, uptime: 93 }) },
  feed: {
    '': {
      status: 200,
      headers: { 'content-type': 'application/xml' },
      body: '<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour</title><item><title>Bridge open</title></item></channel></rss>',
    },
  },
  docs: app(
    'Templates',
    '<h1>Templates</h1><p>Write a name in two braces:</p><pre><code>&lt;p&gt;{{ user.name }}&lt;/p&gt;\n{% for each in orders %}{{ each }}{% endfor %}</code></pre><p>If it is missing, you see an error such as <code>TypeError: x is undefined</code>.</p><a href="#next">Next: loops</a>',
    SANS,
  ),
  'error-tracker': app(
    'Errors',
    `<nav><a href="#i">Issues</a> <a href="#r">Releases</a></nav><h1>Issues</h1><table><tr><th>Error<th>Seen</tr><tr><td>Internal Server Error<td>14</tr></table><pre>${TRACE}</pre><button>Resolve</button><button>Ignore</button>`,
    SANS,
  ),
  'status-words': app(
    'Errors this week',
    '<h1>404 errors this week</h1><p>Twelve pages were not found, fewer than last week. Loading times are stable.</p><a href="#list">The list</a>',
  ),
  'not-found-game': app(
    'Not Found',
    '<h1>Not Found</h1><p>A game about things that are missing. Find the cat in each picture.</p><button>Play</button>',
  ),
  'file-manager': app(
    'Files',
    `<h1>Files</h1><button>Upload</button><table>${['report.pdf', 'budget.xlsx', 'notes.txt'].map((name) => `<tr><td><a href="${name}">${name}</a><td>12 kB<td><button>Delete</button></tr>`).join('')}</table>`,
    SANS,
  ),
  'link-list': app(
    'Bookmarks',
    '<h1>Bookmarks</h1><ul><li><a href="https://a.test">Maps of the area</a><li><a href="https://b.test">Bus times</a><li><a href="https://c.test">Library</a></ul>',
  ),
  'code-viewer': app(
    'gist: fib.py',
    '<h1>fib.py</h1><button>Copy</button><pre><code>def fib(n):\n    return n if n &lt; 2 else fib(n - 1) + fib(n - 2)\n</code></pre><p>3 comments</p>',
    SANS,
  ),
  calculator: app(
    'Calculator',
    `<output>0</output><div>${'7 8 9 / 4 5 6 * 1 2 3 - 0 . = +'
      .split(' ')
      .map((key) => `<button>${key}</button>`)
      .join('')}</div>`,
  ),
  todo: app(
    'Todo',
    `<h1>Todo</h1><form><input placeholder="What is next?"><button>Add</button></form><ul id="list"></ul><script>list.innerHTML = '<li>Water the plants'</script>`,
  ),
  'empty-state': {
    ...app(
      'Inbox',
      `<h1>Inbox</h1><p id="it"></p><script>fetch('list').then((all) => all.json()).then((all) => { it.textContent = all.length + ' messages' })</script>`,
    ),
    list: json([]),
  },
  'long-table': app(
    'Rates',
    `<h1>Rates</h1><table>${Array.from({ length: 1_500 }, (_, at) => `<tr><td>${at}<td>${at * 3}</tr>`).join('')}</table>`,
  ),
  'custom-elements': app(
    'Rating',
    `<x-stars><b slot="name">Tea house</b></x-stars><script>customElements.define('x-stars', class extends HTMLElement { constructor() { super(); this.attachShadow({ mode: 'open' }).innerHTML = '<h2><slot name="name"></slot></h2><button>Five stars</button>' } })</script>`,
  ),
  'hash-router': app(
    'Wiki',
    `<div id="app"></div><script>const go = () => { app.innerHTML = '<h1>' + (location.hash || '#start') + '</h1><a href="#more">More</a>' }; addEventListener('hashchange', go); location.hash = 'home'; go()</script>`,
  ),
  progress: app(
    'Course',
    '<h1>Course</h1><div role="progressbar" aria-valuenow="40" aria-valuemax="100" style="width:40%;height:8px;background:#393"></div><p>Lesson 4 of 10</p>',
  ),
  connecting: app(
    'Rooms',
    `<h1>Rooms</h1><p id="state">Connecting…</p><button>Join</button><script>setTimeout(() => { state.textContent = 'Two people are here' }, 900)</script>`,
  ),
  'quiet-error': app(
    'Board',
    `${MAIN}<script>console.error('Error: failed to load optional theme'); console.error(new Error('ignored'))</script>`,
  ),
};
