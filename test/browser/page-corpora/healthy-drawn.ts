// Apps that work, with unusual ways to draw: pictures, animations, layers, colours.
import { app, html, page, SANS, svg, type App } from './answers.ts';

const SUN = svg(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" fill="#124"/><circle cx="32" cy="32" r="18" fill="#fb0"/></svg>',
);
const SKY =
  "background:url(\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='80' height='80'%3E%3Crect width='80' height='80' fill='%23def'/%3E%3Ccircle cx='40' cy='40' r='22' fill='%2339c'/%3E%3C/svg%3E\")";

export const drawn: Readonly<Record<string, App>> = {
  'css-art': app(
    'Orrery',
    '<div class="sun"></div><div class="ring"><i></i></div><div class="ring wide"><i></i></div>',
    '<style>body{margin:0;height:100vh;background:#012;overflow:hidden}.sun,.ring{position:absolute;left:50%;top:50%;translate:-50% -50%;border-radius:50%}.sun{width:120px;height:120px;background:radial-gradient(#ff8,#f80)}.ring{width:340px;height:340px;border:1px solid #567;animation:turn 6s linear infinite}.wide{width:620px;height:620px;animation-duration:11s}.ring i{position:absolute;top:-14px;left:50%;width:28px;height:28px;border-radius:50%;background:#4af}@keyframes turn{to{rotate:1turn}}</style>',
  ),
  wallpaper: app('Wallpaper', '', `<style>html,body{margin:0;height:100%}body{${SKY}}</style>`),
  poster: app(
    'Poster',
    '<div class="poster"></div>',
    `<style>body{margin:0}.poster{width:100vw;height:100vh;${SKY};background-size:cover}</style>`,
  ),
  'closed-shadow': app(
    'Widget',
    `<x-board></x-board><script>customElements.define('x-board', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({ mode: 'closed' }); root.innerHTML = '<style>:host{display:block;padding:2rem;font:18px sans-serif;background:#eef}button{padding:1rem}</style><h1>Team board</h1><p>Two cards are open and five are done.</p><button>Add a card</button>' } })</script>`,
  ),
  'closed-shadow-in-root': app(
    'Micro front end',
    `<div id="app"></div><script>const root = document.getElementById('app').attachShadow({ mode: 'closed' }); root.innerHTML = '<div style="padding:40px;background:#fafafa;font:20px serif"><h2>Invoices</h2><p>No invoice is due.</p><a href="#all">All invoices</a></div>'</script>`,
  ),
  game: app(
    'Blocks',
    `<canvas id="field" width="800" height="500"></canvas><div id="hud" style="position:absolute;top:10px;left:20px;color:#fff;font:bold 20px monospace">Score <b id="points">0</b> <button>Pause</button></div><div id="input" style="position:fixed;inset:0;touch-action:none"></div><script>const it = field.getContext('2d'); let x = 0; input.addEventListener('pointerdown', () => { points.textContent++ }); (function draw() { it.fillStyle = '#123'; it.fillRect(0, 0, 800, 500); it.fillStyle = '#fc3'; it.fillRect(x = (x + 3) % 800, 240, 30, 30); requestAnimationFrame(draw) })()</script>`,
    '<style>body{margin:0;background:#123}</style>',
  ),
  'loaded-game': app(
    'Snake',
    `<canvas id="field" width="900" height="500"></canvas><p>Loading…</p><b style="position:fixed;left:9px;top:9px">Score 0</b><script>const it = field.getContext('2d'); it.fillStyle = '#383'; it.fillRect(0, 0, 900, 500); it.fillStyle = '#fc3'; it.fillRect(90, 240, 300, 30)</script>`,
  ),
  'live-chat-button': app(
    'Hills',
    '<div class="view"></div><button class="chat"><i class="spin"></i> Chat</button>',
    `<style>body{margin:0}.view{height:100vh;${SKY}}.chat{position:fixed;right:20px;bottom:20px}.spin{display:inline-block;width:12px;height:12px;background:#080;animation:turn 2s infinite}@keyframes turn{to{rotate:1turn}}</style>`,
  ),
  'fixed-menu': app(
    'Start',
    '<nav style="position:fixed;left:40px;top:40px;width:200px"><a href="#new">New game</a> <a href="#load">Load a game</a></nav><p>Loading takes a minute</p>',
  ),
  'closed-menu': app(
    'Tea',
    '<nav style="height:0;overflow:hidden"><a href="#all">All kinds of tea</a></nav><h1>Tea</h1>',
  ),
  'touch-game': app(
    'Tap the dot',
    `<h1 style="color:#fff">Tap when it is green</h1><p style="color:#fff">Best: 240 ms</p><div class="pad" onclick="this.style.background = '#0a02'" style="position:fixed;inset:0;z-index:10"></div>`,
    '<style>body{background:#a22;font-family:sans-serif;text-align:center}</style>',
  ),
  'drag-layer': app(
    'Map',
    `<div class="tiles"></div><div class="zoom"><button>+</button><button>−</button></div><div class="grab"></div><script>document.querySelector('.grab').onmousedown = () => document.body.classList.toggle('dragging')</script>`,
    `<style>body{margin:0}.tiles{position:fixed;inset:0;${SKY}}.grab{position:fixed;inset:0;cursor:grab}.zoom{position:fixed;right:20px;top:20px}</style>`,
  ),
  'drawing-board': app(
    'Sketch',
    '<nav><button>Pen</button><button>Eraser</button><button>Clear</button></nav><canvas id="paper" width="1200" height="700"></canvas>',
    '<style>body{margin:0}canvas{display:block;cursor:crosshair}</style>',
  ),
  'pixel-fallback': app(
    'Globe',
    `<canvas id="globe" width="600" height="400"></canvas><script>const gl = undefined; const it = globe.getContext('2d'); it.fillStyle = '#06c'; it.beginPath(); it.arc(300, 200, 150, 0, 7); it.fill()</script>`,
  ),
  'full-image': {
    ...app(
      'Photo',
      '<img src="sun.svg" alt="Sunset" style="width:100%;height:95vh;object-fit:cover">',
      '<style>body{margin:0}</style>',
    ),
    'sun.svg': SUN,
  },
  gallery: {
    ...app(
      'Gallery',
      `<h1>Gallery</h1>${Array.from({ length: 40 }, (_, at) => `<img loading="lazy" src="sun.svg?${at}" width="300" height="200" alt="Picture ${at}">`).join('')}`,
    ),
    'sun.svg': SUN,
  },
  colour: app(
    'Colour of the day',
    '<output style="position:fixed;right:24px;bottom:24px;font:14px monospace;color:#fff">#3b5bdb</output>',
    '<style>body{margin:0;background:#3b5bdb}</style>',
  ),
  'gradient-text': app(
    'Studio',
    '<h1>We design quiet software</h1><p>Small team, long projects.</p><a href="#work">Our work</a>',
    '<style>h1{font-size:64px;color:transparent;background:linear-gradient(90deg,#e33,#33e);background-clip:text;-webkit-background-clip:text}</style>',
  ),
  'replaced-logo': {
    ...app(
      'Bakery',
      '<h1 class="logo">Bakery Huber</h1><p>Open from six in the morning, also on Sundays.</p><a href="#bread">Bread</a>',
      '<style>.logo{width:160px;height:160px;background:url(sun.svg);text-indent:-9999px;overflow:hidden}</style>',
    ),
    'sun.svg': SUN,
  },
  spoilers: app(
    'Film notes',
    '<h1>Film notes</h1><p>The first hour is slow, but worth it. The captain turns out to be <span class="spoiler">his own sister in disguise</span>, which explains the letters.</p><p>The music is by an unknown composer.</p>',
    '<style>.spoiler{background:#222;color:#222}.spoiler:hover{color:#fff}</style>',
  ),
  terminal: app(
    'Console',
    '<pre>$ uptime\n 12:00:01 up 41 days, load average: 0.10\n$ <span class="caret">_</span></pre>',
    '<style>body{background:#000;color:#3f3}.caret{animation:blink 1s steps(1) infinite}@keyframes blink{50%{opacity:0}}</style>',
  ),
  pale: app(
    'Essays',
    '<h1>On walking</h1><p class="meta">12 May, four minutes</p><p>He walked every day, and wrote about it in the evening. That is all there is to say.</p>',
    '<style>body{max-width:38rem;margin:4rem auto;font-family:serif;color:#333}.meta{color:#c4c4c4}</style>',
  ),
  clock: app(
    'Clock',
    `<time id="now">12:00:00</time><script>setInterval(() => { now.textContent = new Date().toTimeString().slice(0, 8) }, 250)</script>`,
    '<style>body{display:grid;place-items:center;height:100vh;margin:0;background:#111;color:#eee;font:10rem monospace}</style>',
  ),
  'one-button': app(
    'Start',
    '<button style="font-size:2rem">Start</button>',
    '<style>body{display:grid;place-items:center;height:95vh}</style>',
  ),
  'both-schemes': app(
    'Weather',
    '<h1>Weather</h1><p>18 degrees and dry until the evening.</p><button>Change the place</button>',
    '<style>:root{color-scheme:light dark;--ink:#222;--paper:#fff}@media (prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#181818}}body{background:var(--paper);color:var(--ink);font-family:sans-serif}</style>',
  ),
  'theme-switch': app(
    'Notes',
    `<script>document.documentElement.dataset.theme = localStorage.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')</script><h1>Notes</h1><p>Buy milk, call the plumber.</p><button>Switch the theme</button>`,
    '<style>[data-theme=dark]{background:#111;color:#eee}[data-theme=light]{background:#fff;color:#111}</style>',
  ),
  particles: app(
    'Festival',
    `<div class="snow"></div><h1>Winter festival</h1><p>From 3 to 5 December on the market square.</p><a href="#tickets">Tickets</a>`,
    '<style>.snow{position:fixed;inset:0;pointer-events:none;z-index:9;background:radial-gradient(#fff8 2px,transparent 3px) 0 0/60px 60px;animation:fall 4s linear infinite}@keyframes fall{to{background-position:0 60px}}body{background:#246;color:#fff;font-family:sans-serif}</style>',
  ),
  'splash-goes': app(
    'Planner',
    `<div id="splash" style="position:fixed;inset:0;background:#fff;display:grid;place-items:center"><i class="turn"></i></div><main><h1>Planner</h1><p>Nothing is planned for today.</p><button>Plan something</button></main><script>setTimeout(() => { splash.remove() }, 1500)</script>`,
    '<style>.turn{width:40px;height:40px;border:4px solid #ccc;border-top-color:#333;border-radius:50%;animation:turn 1s linear infinite}@keyframes turn{to{rotate:1turn}}</style>',
  ),
  'splash-fades': app(
    'Reader',
    `<div class="splash"><b>Reader</b></div><main><h1>Your books</h1><p>Seven books, two of them begun.</p><a href="#add">Add a book</a></main>`,
    '<style>.splash{position:fixed;inset:0;background:#222;color:#fff;display:grid;place-items:center;animation:gone .5s 1s forwards}@keyframes gone{to{opacity:0;visibility:hidden}}</style>',
  ),
  'fades-in': app(
    'Portfolio',
    '<main><h1>Hello, I am Mara</h1><p>I build tools for gardeners.</p><a href="#contact">Write to me</a></main>',
    '<style>main{opacity:0;animation:in 1.2s .3s forwards}@keyframes in{to{opacity:1}}</style>',
  ),
  'live-dot': {
    ...app(
      'Status',
      `<h1>Everything runs <span class="dot"></span></h1><p>Last incident: 14 days ago.</p><script>fetch('wait').catch(() => 0)</script>`,
      '<style>.dot{display:inline-block;width:12px;height:12px;border-radius:50%;background:#2a2;animation:pulse 1s infinite}@keyframes pulse{50%{opacity:.2}}</style>',
    ),
    wait: () => undefined,
  },
  dialog: app(
    'Shop',
    `<h1>Shop</h1><p>Shirts and socks.</p><button>Buy</button><dialog id="ask"><p>Which country do you live in?</p><button>Austria</button><button>Italy</button></dialog><script>ask.showModal()</script>`,
  ),
  'cookie-wall': app(
    'Gazette',
    `<h1>Gazette</h1><p>The bridge is open again.</p><a href="#all">All stories</a><div style="position:fixed;inset:0;background:rgba(0,0,0,.7);display:flex;align-items:end"><section style="background:#fff;padding:2rem;width:100%"><p>We use cookies to count visits.</p><button>Accept</button> <button>Reject</button></section></div>`,
  ),
  'off-canvas': app(
    'Handbook',
    `<nav class="drawer">${Array.from({ length: 40 }, (_, at) => `<a href="#c${at}">Chapter ${at} of the handbook</a><br>`).join('')}</nav><button>Menu</button><h1>Handbook</h1><p>Choose a chapter.</p>`,
    '<style>.drawer{position:fixed;left:0;top:0;width:300px;transform:translateX(-100%)}</style>',
  ),
  carousel: app(
    'Tours',
    `<h1>Tours</h1><div class="reel">${['Alps', 'Coast', 'Forest', 'City', 'Desert'].map((name) => `<article><h2>${name}</h2><p>Five days in small groups, with all meals and a guide who knows the way.</p></article>`).join('')}</div><button>Next</button>`,
    '<style>.reel{display:flex;overflow:hidden}.reel article{min-width:100%}</style>',
  ),
  'screen-reader': app(
    'Timetable',
    '<a class="sr" href="#main">Skip to the content</a><span class="sr">This is the timetable of the northern line, in the order of departure</span><main id="main"><h1>Timetable</h1><p>08:10 platform 3</p></main>',
    '<style>.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0);white-space:nowrap}</style>',
  ),
  embed: {
    ...app(
      'Report',
      '<iframe src="inner" style="border:0;width:100vw;height:95vh"></iframe>',
      '<style>body{margin:0}</style>',
    ),
    inner: html(page('Inner', '<h1>Quarterly report</h1><p>Sales rose by a tenth.</p>')),
  },
  rtl: {
    '': html(
      `<!doctype html><html lang="ar" dir="rtl"><head><meta charset="utf-8"><title>الطقس</title>${SANS}</head><body><h1>الطقس اليوم</h1><p>مشمس وجاف حتى المساء.</p><button>تغيير المدينة</button></body></html>`,
    ),
  },
  'svg-document': { '': SUN },
};
