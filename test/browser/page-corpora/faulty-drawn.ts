// Apps with a fault that a person sees at once: blank, invisible, covered, elsewhere, without end.
import { app, html, json, page, pending, redirect, SANS, script, text, type FaultyApp } from './answers.ts';

const MAIN =
  '<main><h1>Orders</h1><p>Three orders are open, and one is late.</p><button>New order</button></main>';
const TURN =
  '<style>.turn{width:48px;height:48px;border:5px solid #ddd;border-top-color:#36c;border-radius:50%;animation:turn 1s linear infinite}@keyframes turn{to{rotate:1turn}}</style>';

/** Each with what a check has to say of it. */
export const drawn: Readonly<Record<string, FaultyApp>> = {
  'empty-root': {
    says: /blank.*#root is empty/,
    ...app('App', '<div id="root"></div><script>window.start = () => 0</script>'),
  },
  'empty-file': { says: /blank/, '': html('') },
  'empty-under-bar': {
    says: /#app is empty|blank/,
    ...app('App', '<header style="height:60px;background:#36c"></header><div id="app"></div>'),
  },
  'white-on-white': {
    says: /colou?r of (?:its|their) background/,
    ...app(
      'Shop',
      MAIN,
      '<style>body{background:#fff;color:#fff}button{background:#fff;color:#fff;border:0}</style>',
    ),
  },
  'dark-on-dark': {
    says: /colou?r of (?:its|their) background/,
    ...app(
      'Shop',
      MAIN,
      '<style>body{background:#121212}main{color:#131313}button{all:unset;color:#111}</style>',
    ),
  },
  'same-variable': {
    says: /colou?r of (?:its|their) background/,
    ...app(
      'Blog',
      '<article><h1>On bread</h1><p>Flour, water, salt and a little time are enough.</p></article>',
      '<style>:root{--brand:#264}article{background:var(--brand);color:var(--brand);padding:2rem}</style>',
    ),
  },
  'invisible-article': {
    says: /colou?r of (?:its|their) background/,
    ...app(
      'Wiki',
      '<nav><a href="#a">Start</a> <a href="#b">Index</a></nav><article><h2>Rivers</h2><p>The river rises in the hills and reaches the sea after ninety kilometres, past three towns and one castle.</p><p>Its water is clear in summer.</p></article>',
      '<style>article,article *{color:#fefefe}</style>',
    ),
  },
  'dark-scheme-text': {
    says: /dark.*colou?r of (?:its|their) background/,
    ...app(
      'Notes',
      MAIN,
      '<style>body{color:#111;background:#fff}@media (prefers-color-scheme:dark){body{background:#111}button{background:#111;color:#111}}</style>',
    ),
  },
  'dark-scheme-default': {
    says: /dark.*colou?r of (?:its|their) background/,
    ...app(
      'Mail',
      '<h1>Mail</h1><p>You have two new letters and a parcel.</p>',
      '<meta name="color-scheme" content="light dark"><style>h1,p{color:#101010}</style>',
    ),
  },
  'dark-scheme-card': {
    says: /dark.*colou?r of (?:its|their) background/,
    ...app(
      'Panel',
      '<div class="card"><h2>Usage</h2><p>Forty of one hundred gigabytes are used.</p></div>',
      '<style>.card{background:#fff;color:#222;padding:2rem}@media (prefers-color-scheme:dark){body{background:#222}.card{color:#eee;background:#eee}}</style>',
    ),
  },
  'off-left': {
    says: /outside|out of view/,
    ...app(
      'Menu',
      `<div class="page">${MAIN}</div>`,
      '<style>.page{position:absolute;left:-9000px;width:800px}</style>',
    ),
  },
  'slide-never-in': {
    says: /outside|out of view/,
    ...app(
      'Intro',
      `<div class="slide">${MAIN}</div>`,
      '<style>body{overflow:hidden;margin:0}.slide{transform:translateX(110vw);transition:transform .4s}.slide.in{transform:none}</style>',
    ),
  },
  'above-the-page': {
    says: /outside|out of view/,
    ...app('Drop', `<div style="position:fixed;top:-3000px">${MAIN}</div>`),
  },
  'far-below': {
    says: /outside|out of view|below/,
    ...app('Deep', `<div style="height:400vh"></div>${MAIN}`),
  },
  'opacity-zero': {
    says: /opacity|hidden|blank/,
    ...app(
      'Reveal',
      `<div class="reveal">${MAIN}</div>`,
      '<style>.reveal{opacity:0;transition:opacity 1s}.reveal.shown{opacity:1}</style>',
    ),
  },
  'visibility-hidden': {
    says: /hidden|blank/,
    ...app('Flicker', MAIN, '<style>body{visibility:hidden}</style>'),
  },
  'display-none': {
    says: /hidden|blank/,
    ...app(
      'NoJs',
      `<div class="app">${MAIN}</div>`,
      '<style>.app{display:none}.ready .app{display:block}</style>',
    ),
  },
  'zero-height': {
    says: /no height/,
    ...app('Shell', `<div id="shell" style="height:0;overflow:hidden">${MAIN}</div>`),
  },
  'zero-height-few-words': {
    says: /div#shell has no height/,
    ...app(
      'Greeter',
      '<div id="shell" style="height:0;overflow:hidden"><h1>First version</h1><form><input name="name"><button>Greet</button></form></div>',
    ),
  },
  'zero-height-own-text': {
    says: /div\.note has no height/,
    ...app('Note', '<div class="note" style="height:0;overflow:hidden">Hello</div>'),
  },
  'zero-width': {
    says: /main has no height or width/,
    ...app('Shop', '<main style="width:0;overflow:hidden">Tea <a href="#all">All</a></main>'),
  },
  'zero-height-mounted': {
    says: /div#root has no height/,
    ...app(
      'Tasks',
      `<div id="root" class="closed"></div><script>root.innerHTML = '<h1>Tasks</h1><p>Two.</p>'</script>`,
      '<style>.closed{max-height:0;overflow:clip}</style>',
    ),
  },
  'empty-root-closed-menu': {
    says: /blank.*#root is empty/,
    ...app('Tasks', '<nav style="height:0;overflow:hidden">Menu</nav><div id="root"></div>'),
  },
  'opaque-veil': {
    says: /lies over/,
    ...app('Veil', `${MAIN}<div class="veil" style="position:fixed;inset:0;background:#fff"></div>`),
  },
  'dead-backdrop': {
    says: /lies over/,
    ...app(
      'Backdrop',
      `${MAIN}<div class="modal-backdrop" style="position:fixed;inset:0;background:rgba(0,0,0,.02)"></div>`,
    ),
  },
  'grey-backdrop': {
    says: /lies over/,
    ...app(
      'Backdrop',
      `${MAIN}<form><input placeholder="Search"><button>Search</button></form><div class="overlay" style="position:fixed;inset:0;background:rgba(0,0,0,.5)"></div>`,
    ),
  },
  'spinner-over-page': {
    says: /spinner|animation|loading/i,
    ...app(
      'Orders',
      `${MAIN}<div class="busy"><i class="turn"></i></div>`,
      `${TURN}<style>.busy{position:fixed;inset:0;background:#fffd;display:grid;place-items:center}</style>`,
    ),
  },
  'spinner-with-words': {
    says: /spinner|animation|loading/i,
    ...app(
      'Bank',
      `${MAIN}<div class="busy"><div><i class="turn"></i><p>One moment please</p></div></div>`,
      `${TURN}<style>.busy{position:fixed;inset:0;background:#fff;display:grid;place-items:center}</style>`,
    ),
  },
  'spinner-only': {
    says: /spinner|animation|loading/i,
    ...app('App', '<div id="root"><div class="spinner turn" style="margin:40vh auto"></div></div>', TURN),
  },
  'spinner-svg': {
    says: /spinner|animation|loading/i,
    ...app(
      'App',
      '<div id="root"><svg class="animate-spin" width="40" height="40" viewBox="0 0 24 24"><circle cx="12" cy="12" r="10" fill="none" stroke="#36c" stroke-dasharray="40"/></svg></div>',
      '<style>#root{display:grid;place-items:center;height:90vh}.animate-spin{animation:turn 1s linear infinite}@keyframes turn{to{rotate:1turn}}</style>',
    ),
  },
  'dots-overlay': {
    says: /spinner|animation|loading/i,
    ...app(
      'Chat',
      `${MAIN}<div class="cover"><b></b><b></b><b></b></div>`,
      '<style>.cover{position:absolute;left:0;top:0;width:100%;height:100vh;background:#123;display:flex;gap:9px;align-items:center;justify-content:center}.cover b{width:14px;height:14px;border-radius:50%;background:#fff;animation:hop .8s infinite alternate}@keyframes hop{to{translate:0 -12px}}</style>',
    ),
  },
  'waits-for-data': {
    says: /wait|loading/i,
    ...app(
      'Users',
      `<div id="root">Loading…</div><script>fetch('users').then(() => { root.textContent = 'Ada and Bob' })</script>`,
    ),
    users: pending,
  },
  'waits-beside-badge': {
    says: /shows only "Loading…/,
    ...app(
      'Users',
      '<div class="spinner">Loading…</div><div style="position:fixed;right:8px;bottom:8px">799 ms</div>',
    ),
  },
  'waits-beside-tools': {
    says: /shows only "Loading…/,
    ...app(
      'Users',
      `<div id="root">Loading…</div><dev-tools></dev-tools><script>document.querySelector('dev-tools').attachShadow({ mode: 'open' }).innerHTML = '<div style="position:fixed;left:50%;bottom:9px;width:0"><div style="position:absolute;bottom:0;width:90px"><button><svg width="16" height="16"><rect width="16" height="16"/></svg></button> 799 ms</div></div>'</script>`,
    ),
  },
  'spins-beside-tools': {
    says: /shows only a loading animation/,
    ...app(
      'Users',
      `<div class="spinner turn" style="margin:40vh auto"></div><dev-tools></dev-tools><script>document.querySelector('dev-tools').attachShadow({ mode: 'open' }).innerHTML = '<div style="position:fixed;left:50%;bottom:9px;width:0"><div style="position:absolute;bottom:0;width:90px"><button><svg width="16" height="16"><rect width="16" height="16"/></svg></button> 799 ms</div></div>'</script>`,
      TURN,
    ),
  },
  'spins-beside-help': {
    says: /shows only a loading animation/,
    ...app(
      'Bank',
      '<main><i class="turn loader" style="display:block"></i></main><button style="position:fixed;right:20px;bottom:20px">Help</button>',
      TURN,
    ),
  },
  'waits-below-help': {
    says: /shows only "Help Please wait/,
    ...app(
      'Bank',
      `<button style="position:fixed;right:20px;bottom:20px">Help</button><main><p>Please wait...</p></main><script>fetch('account').then(() => document.querySelector('p').replaceWith('120 EUR'))</script>`,
    ),
    account: pending,
  },
  'skeleton-forever': {
    says: /spinner|animation|loading/i,
    ...app(
      'Feed',
      '<div id="root" aria-busy="true"><div class="bone"></div><div class="bone"></div><div class="bone"></div></div>',
      '<style>.bone{height:80px;margin:20px;background:#e4e4e4;animation:shine 1s infinite}@keyframes shine{50%{opacity:.5}}</style>',
    ),
  },
  'reloads-slowly': {
    says: /reloads|redirects/,
    ...app('Live', `${MAIN}<script>setTimeout(() => location.reload(), 700)</script>`),
  },
  'reloads-at-once': {
    says: /reloads|redirects/,
    ...app('Live', `${MAIN}<script>location.reload()</script>`),
  },
  'refresh-zero': {
    says: /reloads|redirects/,
    ...app('Live', MAIN, '<meta http-equiv="refresh" content="0">'),
  },
  'ping-pong': {
    says: /reloads|redirects/,
    ...app('Sign in', `<h1>Sign in</h1><script>setTimeout(() => location.replace('home'), 100)</script>`),
    home: html(page('Home', `<h1>Home</h1><script>setTimeout(() => location.replace('./'), 100)</script>`)),
  },
  'redirect-loop': { says: /redirects endlessly/, '': redirect('again'), again: redirect('./') },
  'blank-canvas': {
    says: /blank/,
    ...app(
      'Globe',
      `<canvas id="c" width="900" height="600"></canvas><script>const gl = c.getContext('webgpu-not-here'); if (gl) gl.draw()</script>`,
    ),
  },
  'black-stage': {
    says: /blank/,
    ...app(
      'Scene',
      '<div id="stage"></div>',
      '<style>html,body{margin:0;height:100%;background:#000}#stage{height:100%}</style>',
    ),
  },
  garbled: {
    says: /text|encoding|garbled|binary/i,
    '': {
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      body: Buffer.from(Array.from({ length: 3_000 }, (_, at) => (at * 7919 + ((at * at) >> 3)) % 256)),
    },
  },
  'text-on-image': {
    says: /colou?r of (?:its|their) background|image/,
    ...app(
      'Hero',
      '<section><h1>Summer in the hills</h1><p>Book now, and walk from hut to hut with us.</p></section>',
      '<style>section{color:#fff;background:url(hero.jpg) center/cover;height:90vh}</style>',
    ),
  },
  'broken-hero': {
    says: /image .*hero\.png/,
    ...app('Hero', '<img src="hero.png" alt="The house" width="900" height="500"><h1>Our house</h1>', SANS),
  },
  'script-in-head': {
    says: /null/,
    ...app('Counter', '<button id="add">Add</button><p id="out"></p>', `<script src="app.js"></script>`),
    'app.js': script("document.getElementById('add').addEventListener('click', () => 0)"),
  },
  'alert-loop': {
    says: /dialogs/,
    ...app('Hi', `<h1>Hi</h1><script>for (;;) alert('Please wait')</script>`),
  },
  'error-list': {
    says: /500/,
    ...app(
      'List',
      `<h1>List</h1><p id="it"></p><script>fetch('all').then((all) => { if (!all.ok) it.textContent = 'Something went wrong.' })</script>`,
    ),
    all: json({ error: 'no such table: items' }, { status: 500 }),
  },
  'plain-placeholder': {
    says: /template|\{\{/,
    ...app('{{ title }}', '<h1>{{ title }}</h1><ul><li v-for="each in items">{{ each.name }}</li></ul>'),
  },
  'text-is-json-error': { says: /database/, '': text('{"error":"the database is locked"}', { status: 500 }) },
};
