import type { Edit } from './framework-table.ts';

/** A fault in a project of a framework, and what a check of its page says. */
export interface Fault {
  readonly name: string;
  /** Runs with `npm test`; the others with `npm run test:frameworks`. */
  readonly core?: true;
  readonly edits: readonly (Edit | NewFile)[];
  /** Kind of the likeliest cause. */
  readonly kind: string;
  readonly says: RegExp;
  /** File and line of the cause, where a browser can know them. */
  readonly at?: string;
}

interface NewFile {
  readonly file: string;
  readonly text: string;
}

/** By name of `FRAMEWORKS`. */
export const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  Vite: [
    {
      name: 'a syntax error',
      core: true,
      edits: [{ file: 'src/heading.js', text: "export default 'First version;\n" }],
      kind: 'error_overlay',
      says: /^Vite shows an error: /,
      at: 'src/heading.js:1',
    },
    {
      name: 'a missing environment variable',
      core: true,
      edits: [
        {
          file: 'src/main.js',
          from: 'show(heading);',
          to: 'show(heading);\nfetch(`${import.meta.env.VITE_API}/items`).then((it) => it.json());',
        },
      ],
      kind: 'request_failed',
      says: /^GET \/undefined\/items .*environment variable/,
      at: 'src/main.js:7',
    },
    {
      name: 'a root without height',
      edits: [
        {
          file: 'index.html',
          from: '<body>',
          to: '<body><div id="shell" style="height: 0; overflow: hidden">',
        },
      ],
      kind: 'zero_size',
      says: /div#shell has no height/,
    },
    {
      name: 'a wrong base path',
      edits: [{ file: 'index.html', from: '/src/main.js', to: '/shop/src/main.js' }],
      kind: 'script_failed',
      says: /^The script \/shop\/src\/main\.js answered 404/,
      at: '/:15',
    },
  ],
  'Next (Turbopack)': [
    {
      name: 'a syntax error',
      core: true,
      edits: [{ file: 'app/page.js', from: '<Greeting />', to: '<Greeting' }],
      kind: 'error_overlay',
      says: /^Next\.js shows an error/,
      at: 'app/page.js:8',
    },
    {
      name: 'a hydration error',
      core: true,
      edits: [
        {
          file: 'app/greeting.js',
          from: '<input name="name" />',
          to: "<input name=\"name\" />\n      <b>{typeof window === 'undefined' ? 'server' : 'browser'}</b>",
        },
      ],
      kind: 'hydration',
      says: /hydrat/i,
    },
    {
      name: 'an error in an effect',
      edits: [
        {
          file: 'app/greeting.js',
          from: 'useEffect(() => setHydrated(true), []);',
          to: "useEffect(() => {\n    throw new Error('No session');\n  }, []);",
        },
      ],
      kind: 'error_overlay',
      says: /No session/,
      at: 'app/greeting.js:10',
    },
    {
      name: 'an API that answers 500',
      edits: [
        {
          file: 'app/api/items/route.js',
          text: "export function GET() {\n  throw new Error('no database');\n}\n",
        },
        {
          file: 'app/greeting.js',
          from: 'useEffect(() => setHydrated(true), []);',
          to: "useEffect(() => {\n    fetch('/api/items');\n    setHydrated(true);\n  }, []);",
        },
      ],
      kind: 'request_failed',
      says: /^GET \/api\/items answered 500/,
      at: 'app/greeting.js:10',
    },
  ],
  'webpack-dev-server': [
    {
      name: 'a missing module',
      core: true,
      edits: [
        { file: 'src/heading.js', text: "import './nowhere.js';\n\nexport default 'First version';\n" },
      ],
      kind: 'error_overlay',
      says: /^webpack shows an error: .*Can't resolve '\.\/nowhere\.js'/,
      at: 'src/heading.js:1',
    },
    {
      name: 'a missing chunk',
      edits: [
        { file: 'src/late.js', text: 'export default () => 0;\n' },
        {
          file: 'src/main.js',
          from: 'show();',
          to: "show();\n__webpack_public_path__ = '/shop/';\nimport('./late.js').then((it) => it.default());",
        },
      ],
      kind: 'script_failed',
      says: /^The script \/shop\/src_late_js\.js answered 404/,
    },
  ],
  Django: [
    {
      name: 'an error in a view',
      core: true,
      edits: [
        {
          file: 'shop/urls.py',
          from: 'urlpatterns = [',
          to: 'def home(request):\n    return {}["orders"]\n\n\nurlpatterns = [\n    path("", home),',
        },
      ],
      kind: 'error_overlay',
      says: /^Django shows an error: KeyError at \/: 'orders'/,
      at: 'shop/urls.py:6',
    },
    {
      name: 'an error in a template',
      core: true,
      edits: [{ file: 'shop/templates/index.html', from: '<output>', to: '{% orders %}<output>' }],
      kind: 'error_overlay',
      says: /^Django shows an error: TemplateSyntaxError at \/: Invalid block tag on line 11: 'orders'/,
      at: 'shop/templates/index.html:11',
    },
    {
      name: 'a missing image',
      edits: [
        {
          file: 'shop/templates/index.html',
          from: '<output>',
          to: '<img src="{% static \'logo.png\' %}" width="90" height="90" alt="Logo"><output>',
        },
      ],
      kind: 'resource_failed',
      says: /^The image \/static\/logo\.png answered 404/,
    },
    {
      name: 'a font that a policy blocks',
      edits: [
        {
          file: 'shop/templates/index.html',
          from: '<title>',
          to: '<meta http-equiv="Content-Security-Policy" content="font-src \'none\'"><style>@font-face { font-family: F; src: url(/static/f.woff2) } h1 { font-family: F }</style><title>',
        },
      ],
      kind: 'csp',
      says: /Content.Security.Policy.*\/static\/f\.woff2|\/static\/f\.woff2.*Content.Security.Policy/,
    },
  ],
  Flask: [
    {
      name: 'an error in a view',
      edits: [{ file: 'app.py', from: 'def index():', to: 'def index():\n    return {}["orders"]' }],
      kind: 'error_overlay',
      says: /^Flask shows an error: KeyError: 'orders'/,
      at: 'app.py:10',
    },
    {
      name: 'an API that answers 500',
      edits: [
        {
          file: 'app.py',
          from: '@app.get("/")',
          to: '@app.get("/api/items")\ndef items():\n    raise RuntimeError("no database")\n\n\n@app.get("/")',
        },
        { file: 'templates/index.html', from: '<script>', to: '<script>\n      fetch("/api/items");' },
      ],
      kind: 'request_failed',
      says: /^GET \/api\/items answered 500/,
      at: '/:17',
    },
    {
      name: 'a refused WebSocket',
      edits: [
        { file: 'templates/index.html', from: '<script>', to: '<script>\n      new WebSocket("/live");' },
      ],
      kind: 'socket_refused',
      says: /^The WebSocket \/live was refused/,
    },
    {
      name: 'an element over the page',
      edits: [
        {
          file: 'templates/index.html',
          from: '<output>',
          to: '<div class="veil" style="position: fixed; inset: 0; background: #fff; z-index: 99"></div><output>',
        },
      ],
      kind: 'covered',
      says: /div\.veil lies over the whole page/,
    },
  ],
  SvelteKit: [
    {
      name: 'a syntax error',
      edits: [{ file: 'src/routes/+page.svelte', from: '{#if form}', to: '{#iff form}' }],
      kind: 'error_overlay',
      says: /^\w+ shows an error: .*(?:block|expected)/i,
      at: 'src/routes/+page.svelte:14',
    },
    {
      name: 'an unhandled rejection',
      edits: [
        {
          file: 'src/routes/+page.svelte',
          from: 'hydrated = true;',
          to: "hydrated = true;\n  (async () => {\n    throw new Error('No session');\n  })();",
        },
      ],
      kind: 'uncaught_error',
      says: /No session \(unhandled rejection\)/,
      at: 'src/routes/+page.svelte:7',
    },
    {
      name: 'an error in its load function',
      edits: [
        {
          file: 'src/routes/+page.server.js',
          from: 'export const actions',
          to: "export const load = () => {\n  throw new Error('no database');\n};\nexport const actions",
        },
      ],
      kind: 'document_status',
      says: /^The page \/ answers 500: 500 Internal Error/,
    },
  ],
  Astro: [
    // Astro reports those of the server to pages that connect within 200 ms, and to no others.
    {
      name: 'an error in its script',
      edits: [{ file: 'src/pages/index.astro', from: "'ran';", to: "'ran';\n      orders.length;" }],
      kind: 'uncaught_error',
      says: /orders is not defined/,
    },
    {
      name: 'a missing style sheet',
      edits: [
        {
          file: 'src/pages/index.astro',
          from: '<title>',
          to: '<link rel="stylesheet" href="/shop/app.css" /><title>',
        },
      ],
      kind: 'stylesheet_failed',
      says: /^The stylesheet \/shop\/app\.css answered 404/,
    },
    {
      name: "a port of the visitor's machine",
      edits: [
        {
          file: 'src/pages/index.astro',
          from: "document.body.dataset.script = 'ran';",
          to: "document.body.dataset.script = 'ran';\n      fetch('http://localhost:8000/api/items');",
        },
      ],
      kind: 'visitor_machine',
      says: /^The page requests http:\/\/localhost:8000\/api\/items/,
    },
  ],
  Nuxt: [
    {
      name: 'an error in its setup',
      edits: [
        {
          file: 'app/app.vue',
          from: 'const hydrated',
          to: 'const orders = undefined.length;\nconst hydrated',
        },
      ],
      kind: 'error_overlay',
      says: /^Nuxt shows an error: .*Cannot read properties of undefined/,
      // The overlay has the line of the compiled component.
      at: 'app/app.vue:null',
    },
    {
      name: 'a hydration error',
      edits: [
        {
          file: 'app/app.vue',
          from: 'const hydrated',
          to: "const side = import.meta.server ? 'server' : 'browser';\nconst hydrated",
        },
        { file: 'app/app.vue', from: '<input name="name" />', to: '<input name="name" /><b>{{ side }}</b>' },
      ],
      kind: 'hydration',
      says: /hydrat/i,
    },
    {
      name: 'a page that loads without end',
      edits: [
        { file: 'app/app.vue', text: '<template>\n  <div class="spinner">Loading…</div>\n</template>\n' },
      ],
      kind: 'still_loading',
      says: /^The page shows only "Loading…/,
    },
    {
      name: 'a spinner without end',
      edits: [
        {
          file: 'app/app.vue',
          text: '<script setup>\nconst turning = useTemplateRef(\'turning\');\nonMounted(() => turning.value.animate({ rotate: [\'0turn\', \'1turn\'] }, { duration: 900, iterations: Infinity }));\n</script>\n<template>\n  <div ref="turning" class="spinner" style="width: 40px; height: 40px; background: #36c" />\n</template>\n',
        },
      ],
      kind: 'still_loading',
      says: /^The page shows only a loading animation \(div\.spinner\)/,
    },
  ],
  'Express and Socket.IO': [
    {
      name: "a WebSocket of the visitor's machine",
      edits: [{ file: 'public/index.html', from: 'io({', to: "io('http://localhost:4000', {" }],
      kind: 'visitor_machine',
      says: /ws:\/\/localhost:4000\/socket\.io\//,
    },
    {
      name: 'an API that answers 500',
      edits: [
        {
          file: 'public/index.html',
          from: 'io({',
          to: "fetch('/greet', { method: 'POST' });\n      io({",
        },
      ],
      kind: 'request_failed',
      says: /^POST \/greet answered 500/,
      at: '/:15',
    },
    {
      name: 'a blank page',
      edits: [
        {
          file: 'public/index.html',
          text: '<!doctype html><title>Express</title><link rel="icon" href="data:," /><div id="root"></div>\n',
        },
      ],
      kind: 'blank',
      says: /div#root is empty/,
    },
  ],
};
