import { describe, expect, test } from '@jest/globals';
import { guessFramework } from '#core/diagnosis/framework.ts';

describe('framework detection', () => {
  test.each<[name: string | undefined, header: Record<string, string>, body: string, command: string]>([
    ['Vite', {}, '<script type="module" src="/@vite/client"></script>', 'node server.js'],
    ['SvelteKit', {}, '<script src="/@vite/client"></script><script>__sveltekit_1a2b = {}</script>', ''],
    ['Next.js', { 'x-powered-by': 'Next.js' }, '<html></html>', 'next-server (v15.0.0)'],
    ['Next.js', {}, '<link href="/_next/static/css/app.css">', ''],
    ['Nuxt', { 'x-powered-by': 'Nuxt' }, '', ''],
    ['Django', { server: 'WSGIServer/0.2 CPython/3.12.1' }, '', ''],
    ['Flask', { server: 'Werkzeug/3.0 Python/3.12' }, '', ''],
    ['Uvicorn (FastAPI, Starlette)', { server: 'uvicorn' }, '', ''],
    ['Python http.server', { server: 'SimpleHTTP/0.6 Python/3.11.2' }, '', ''],
    ['Express', { 'x-powered-by': 'Express' }, 'hello', 'node index.js'],
    ['Vite', {}, 'hello', 'node /workspace/node_modules/.bin/vite --port 3000'],
    ['Node.js', {}, 'hello', '/usr/local/bin/node index.js'],
    ['Streamlit', { server: 'TornadoServer/6.4' }, '<title>Streamlit</title>', ''],
    [undefined, {}, 'hello', './my-own-server'],
    [undefined, {}, '', ''],
  ])('detects %s', (name, headers, body, command) => {
    expect(guessFramework({ headers: new Map(Object.entries(headers)), body, command })?.name).toBe(name);
  });

  test('knows the hot reload endpoint, and how to listen on all addresses', () => {
    const next = guessFramework({ headers: new Map([['x-powered-by', 'Next.js']]), body: '', command: '' });
    expect(next).toEqual({
      name: 'Next.js',
      hotReload: { path: '/_next/webpack-hmr' },
      bindAll: '-H 0.0.0.0',
    });
  });

  test('takes bounded time on an adversarial page', () => {
    const bodies = ['<!--', '<title>', '<title>a', '<meta name="generator" content="'].map((piece) =>
      piece.repeat(65_536 / piece.length),
    );
    for (const body of bodies) {
      expect(guessFramework({ headers: new Map(), body, command: 'x'.repeat(200) })).toBeUndefined();
    }
  });
});
