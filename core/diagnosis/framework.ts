import type { UpgradeTarget } from '../previews/app-probe.ts';

/** Input of the guess; texts from the sandbox. */
export interface FrameworkEvidence {
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** The command line of the listening process, if known. */
  readonly command: string;
}

export interface Framework {
  readonly name: string;
  /** The WebSocket endpoint of the dev server's hot reload. */
  readonly hotReload?: UpgradeTarget;
  /** The flags to listen on all addresses; `{port}` is replaced with the port. */
  readonly bindAll?: string;
}

interface Sign extends Framework {
  readonly header?: readonly [name: string, pattern: RegExp];
  readonly body?: RegExp;
  readonly command?: RegExp;
}

/** Vite answers this subprotocol without the token from its page. */
const VITE: UpgradeTarget = { path: '/', protocol: 'vite-ping' };
const HOST_FLAG = '--host 0.0.0.0';

/** The first match wins: specific before general, page content before process name. */
const SIGNS: readonly Sign[] = [
  {
    name: 'Next.js',
    header: ['x-powered-by', /^Next\.js/],
    body: /\/_next\/static\//,
    hotReload: { path: '/_next/webpack-hmr' },
    bindAll: '-H 0.0.0.0',
  },
  {
    name: 'Nuxt',
    header: ['x-powered-by', /^Nuxt/],
    body: /window\.__NUXT__|id="__nuxt"/,
    hotReload: { path: '/_nuxt/', protocol: 'vite-ping' },
    bindAll: HOST_FLAG,
  },
  { name: 'SvelteKit', body: /__sveltekit_|data-sveltekit-/, hotReload: VITE, bindAll: HOST_FLAG },
  {
    name: 'Astro',
    body: /<meta name="generator" content="Astro|<astro-island/,
    hotReload: VITE,
    bindAll: HOST_FLAG,
  },
  { name: 'React Router', body: /__reactRouterContext|__remixContext/, hotReload: VITE, bindAll: HOST_FLAG },
  { name: 'Angular', body: /<app-root[\s>]|ng-version="/, hotReload: VITE, bindAll: HOST_FLAG },
  {
    name: 'Storybook',
    body: /<title>[^<]{0,80}Storybook<\/title>/,
    hotReload: { path: '/storybook-server-channel' },
    bindAll: HOST_FLAG,
  },
  { name: 'Vite', body: /\/@vite\/client/, command: /\bvite\b/, hotReload: VITE, bindAll: HOST_FLAG },
  { name: 'Gatsby', body: /id="___gatsby"/, bindAll: '--host 0.0.0.0' },
  {
    name: 'webpack dev server',
    body: /webpack-dev-server|\/static\/js\/bundle\.js/,
    command: /webpack(?:-dev-server| serve)|react-scripts/,
    hotReload: { path: '/ws' },
    bindAll: HOST_FLAG,
  },
  {
    name: 'Parcel',
    body: /<!--[^>]{0,40}parcel|__parcel__/i,
    command: /\bparcel\b/,
    bindAll: '--host 0.0.0.0',
  },
  {
    name: 'Hugo',
    body: /<meta name="generator" content="Hugo/,
    command: /\bhugo\b/,
    hotReload: { path: '/livereload' },
    bindAll: '--bind 0.0.0.0',
  },
  {
    name: 'Jekyll',
    body: /<meta name="generator" content="Jekyll/,
    command: /\bjekyll\b/,
    bindAll: HOST_FLAG,
  },
  { name: 'Docusaurus', body: /<meta name="generator" content="Docusaurus/, bindAll: HOST_FLAG },
  {
    name: 'Streamlit',
    body: /<title>Streamlit<\/title>/,
    command: /\bstreamlit\b/,
    hotReload: { path: '/_stcore/stream' },
    bindAll: '--server.address 0.0.0.0',
  },
  {
    name: 'Gradio',
    body: /window\.gradio_config|<gradio-app/,
    command: /\bgradio\b/,
    bindAll: 'server_name="0.0.0.0"',
  },
  {
    name: 'Jupyter',
    body: /id="jupyter-config-data"|<title>(?:JupyterLab|Jupyter)/,
    command: /\bjupyter\b/,
    bindAll: '--ip 0.0.0.0',
  },
  {
    name: 'Django',
    header: ['server', /^WSGIServer\//],
    command: /manage\.py runserver/,
    bindAll: 'manage.py runserver 0.0.0.0:{port}',
  },
  { name: 'Flask', header: ['server', /^Werkzeug\//], command: /\bflask\b/, bindAll: HOST_FLAG },
  {
    name: 'Uvicorn (FastAPI, Starlette)',
    header: ['server', /^uvicorn/],
    command: /\b(?:uvicorn|fastapi)\b/,
    bindAll: HOST_FLAG,
  },
  {
    name: 'Hypercorn',
    header: ['server', /^hypercorn/],
    command: /\bhypercorn\b/,
    bindAll: '--bind 0.0.0.0:{port}',
  },
  {
    name: 'Gunicorn',
    header: ['server', /^gunicorn/],
    command: /\bgunicorn\b/,
    bindAll: '--bind 0.0.0.0:{port}',
  },
  { name: 'Tornado', header: ['server', /^TornadoServer\//] },
  { name: 'aiohttp', header: ['server', /aiohttp\//] },
  {
    name: 'Python http.server',
    header: ['server', /^SimpleHTTP\//],
    command: /-m http\.server\b/,
    bindAll: '--bind 0.0.0.0',
  },
  {
    name: 'Laravel',
    header: ['set-cookie', /laravel_session/],
    command: /artisan serve/,
    bindAll: HOST_FLAG,
  },
  {
    name: 'PHP',
    header: ['x-powered-by', /^PHP\//],
    command: /\bphp\b.{0,200} -S /,
    bindAll: '-S 0.0.0.0:{port}',
  },
  {
    name: 'Ruby on Rails',
    header: ['x-runtime', /^\d/],
    command: /\brails\b/,
    hotReload: { path: '/cable' },
    bindAll: '-b 0.0.0.0',
  },
  {
    name: 'Spring Boot',
    body: /Whitelabel Error Page/,
    command: /spring-boot/,
    bindAll: '--server.address=0.0.0.0',
  },
  { name: 'ASP.NET Core', header: ['server', /^Kestrel/], bindAll: '--urls http://0.0.0.0:{port}' },
  { name: 'Express', header: ['x-powered-by', /^Express/] },
  { name: 'Caddy', header: ['server', /^Caddy/] },
  { name: 'nginx', header: ['server', /^nginx/] },
  { name: 'Apache', header: ['server', /^Apache/] },
  { name: 'BusyBox httpd', command: /\bhttpd\b/, bindAll: '-p 0.0.0.0:{port}' },
  { name: 'Bun', command: /(?:^|\/)bun\b/ },
  { name: 'Deno', command: /(?:^|\/)deno\b/ },
  { name: 'Node.js', command: /(?:^|\/)node\b/ },
];

/** The framework or server behind an answer. A guess, from known signatures. */
export function guessFramework({ headers, body, command }: FrameworkEvidence): Framework | undefined {
  const found =
    SIGNS.find(({ header, body: mark }) => {
      if (header !== undefined && header[1].test(headers.get(header[0]) ?? '')) return true;
      return mark?.test(body) === true;
    }) ?? SIGNS.find(({ command: program }) => program?.test(command) === true);
  if (found === undefined) return undefined;
  const { name, hotReload, bindAll } = found;
  return { name, ...(hotReload && { hotReload }), ...(bindAll && { bindAll }) };
}
