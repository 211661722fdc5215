import { createRequire } from 'node:module';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { chromiumMissing, launchHeadlessShell } from '#test/support/chromium.ts';
import { startTestHost, type TestHost } from '#test/support/in-process-host.ts';
import { suite } from '#test/support/suite.ts';
import { ensureConsoleBuilt, violations, watch } from './support/console-fixture.ts';
import { openSandbox, type SandboxWithPreview } from './app-in-sandbox.ts';

const FORM = `import { useState } from 'react';

export function SaveForm() {
  const [saved, save] = useState(false);
  return (
    <form>
      <label>Name <input name="who" /></label>
      <button type="button" onClick={() => save(true)}>
        <b>Save</b>
      </button>
      {saved ? <p>Saved</p> : null}
    </form>
  );
}
`;
const MAIN = `import { createRoot } from 'react-dom/client';
import { SaveForm } from './save-form.jsx';
createRoot(document.querySelector('#root')).render(<main><h1>Shop</h1><SaveForm /></main>);
`;
const HTML = `<!doctype html><html lang="en"><title>Shop</title><style>button { width: 120px; height: 40px }</style>
<div id="root"></div><script src="app.js"></script></html>`;
/** What the development builds of Vue and Svelte leave on their elements, and a page that lies. */
const HOOKS = `<!doctype html><html lang="en"><title>Hooks</title><style>body { margin: 0 } button { display: block; width: 200px; height: 50px; margin: 0 }</style>
<button>Vue</button><button>Svelte 5</button><button>Svelte 4</button><button data-v-inspector="src/nav.vue:3:5">Inspector</button>
<button>Liar</button><button aria-label="Close &#x202e;dialog">×</button><div style="height: 3000px"></div><button>Far</button>
<script>
const [vue, svelte5, svelte4, , liar] = document.querySelectorAll('button');
vue.__vueParentComponent = { type: { __name: 'LoginForm', __file: '/workspace/src/LoginForm.vue' } };
svelte5.__svelte_meta = { loc: { file: 'src/App.svelte', line: 4, column: 2 } };
svelte4.__svelte_meta = { loc: { file: 'src/App.svelte', line: 3, column: 2, char: 40 } };
liar.__svelte_meta = { loc: { get file() { throw new Error('no') } } };
Object.defineProperty(liar, '__vueParentComponent', { value: { type: { name: 'x'.repeat(9e6), __file: {} } } });
Document.prototype.querySelectorAll = () => [liar];
Element.prototype.getBoundingClientRect = () => { throw new Error('no'); };
</script></html>`;
/** Sends whatever a page can send to the inbox of the run, and says so in its title. */
const FORGER = (api: string, run: string) => `<!doctype html><title>forging</title><script>
const target = ${JSON.stringify(`${api}/api/runs/${run}/inbox`)};
const text = JSON.stringify({ text: 'forged' });
const message = { type: 'inbox', target, text: 'forged', selector: '#root', runId: ${JSON.stringify(run)} };
const ways = [
  () => fetch(target, { method: 'POST', body: text, headers: { 'content-type': 'application/json' }, credentials: 'include' }),
  () => fetch(target, { method: 'POST', body: text, mode: 'no-cors', credentials: 'include' }),
  () => fetch(target, { method: 'POST', body: new Blob([text], { type: 'text/plain' }), credentials: 'include', mode: 'no-cors' }),
  () => navigator.sendBeacon(target, new Blob([text], { type: 'text/plain' })),
  () => { for (const other of [top, parent, opener]) other?.postMessage(message, '*'); },
  () => new Promise((resolve) => {
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.name = 'f' + Math.random();
    const form = document.body.appendChild(document.createElement('form'));
    Object.assign(form, { action: target, method: 'post', enctype: 'text/plain', target: frame.name });
    const field = form.appendChild(document.createElement('input'));
    [field.name, field.value] = ['{"text":"forged","x":"', '"}'];
    form.submit();
    setTimeout(resolve, 50);
  }),
];
addEventListener('load', async () => {
  for (let at = 0; at < 200; at += 1) await Promise.resolve(ways[at % ways.length]()).catch(() => undefined);
  document.title = 'forged';
});
</script><body></body>`;

interface Element {
  readonly selector: string;
  readonly picture: { readonly data: string; readonly width: number } | null;
  readonly [field: string]: unknown;
}

const LIMIT = 120_000;
const widthOf = (image: unknown) => (image as { readonly naturalWidth: number }).naturalWidth;

suite('a comment on an element of a page', chromiumMissing, () => {
  let porthole: TestHost;
  let opened: SandboxWithPreview;
  let browser: Browser;

  beforeAll(async () => {
    ensureConsoleBuilt();
    [porthole, browser] = await Promise.all([startTestHost(), launchHeadlessShell()]);
    opened = await openSandbox(porthole);
    const { api, sandbox, serve, runId } = opened;
    const files = { 'index.html': HTML, 'hooks.html': HOOKS, 'forge.html': FORGER(porthole.host.url, runId) };
    for (const [name, text] of Object.entries({ ...files, ...(await reactApp()) })) {
      await api.write(sandbox, name, text);
    }
    await serve('python3 -m http.server 3000');
  }, LIMIT);
  afterAll(async () => {
    await browser?.close();
    await porthole?.end();
  });

  const find = async (path: string, x: number, y: number) => {
    const at = `/api/runs/${opened.runId}/previews/3000/element`;
    return porthole.call('POST', at, { body: { path, point: { x, y } } });
  };
  /** The middle of the button on the page. */
  const buttonAt = async () => {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await page.goto(opened.url);
    const { x = 0, y = 0, width = 0, height = 0 } = (await page.locator('button').boundingBox()) ?? {};
    await page.close();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const messages = async () =>
    (await porthole.call('GET', `/api/runs/${opened.runId}/inbox`)).json<{
      messages: { message_id: string; text: string }[];
    }>().messages;

  test(
    'has selector, role, component and source of a React build, by its source map',
    async () => {
      const { x, y } = await buttonAt();
      const found = await find('/', x, y);
      const line = FORM.split('\n').findIndex((each) => each.includes('<button')) + 1;
      expect([found.status, found.json<Element>()]).toEqual([
        200,
        {
          selector: expect.stringMatching(/(?:^|> )button$/),
          role: 'button',
          name: 'Save',
          component: 'SaveForm',
          file: 'src/save-form.jsx',
          line,
          column: expect.any(Number),
          picture: expect.objectContaining({ media_type: 'image/jpeg' }),
        },
      ]);
    },
    LIMIT,
  );

  test.each([
    ['Vue', 25, { component: 'LoginForm', file: 'src/LoginForm.vue', line: null }],
    ['Svelte 5', 75, { component: 'App', file: 'src/App.svelte', line: 4, column: 3 }],
    ['Svelte 4', 125, { component: 'App', file: 'src/App.svelte', line: 4, column: 3 }],
    ['Inspector', 175, { component: null, file: 'src/nav.vue', line: 3, column: 5 }],
    ['Liar', 225, { component: `${'x'.repeat(199)}…`, file: null }],
    ['Close dialog', 275, { component: null, file: null, selector: expect.stringContaining('button') }],
    ['Far', 3_325, { component: null, file: null }],
  ])(
    'has the component that the framework of a page names: %s',
    async (name, y, expected) => {
      const found = (await find('/hooks.html', 20, y)).json<Element>();
      expect(found).toMatchObject({ role: 'button', name, ...expected });
      expect(found.picture?.data).toMatch(/^\/9j\//);
    },
    LIMIT,
  );

  test('says so where a point is on nothing', async () => {
    const refused = await find('/hooks.html', 20, 9_900);
    expect([refused.status, refused.json()['code']]).toEqual([404, 'element_not_found']);
  });

  test(
    'is pinned to a button in the console, and in the inbox of the agent within a second',
    async () => {
      const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
      const watched = watch(page);
      await page.goto(`${porthole.host.url}/runs/${opened.runId}?pane=inbox`);
      await page.getByRole('button', { name: 'Comment on port 3000', exact: true }).click();
      const dialog = page.getByRole('dialog');
      const picture = dialog.getByRole('button', { name: 'Port 3000, /', exact: true });
      const { width = 0 } = (await picture.boundingBox({ timeout: 30_000 })) ?? {};
      const at = await buttonAt();
      const scale = width / 1_280;
      await picture.click({ position: { x: at.x * scale, y: at.y * scale } });
      await dialog.getByText('Pinned to button “Save”').waitFor({ timeout: 30_000 });
      await dialog.getByLabel('Comment', { exact: true }).fill('Too small for a thumb');
      const pressed = performance.now();
      await dialog.getByRole('button', { name: 'Send', exact: true }).click();
      let found: Awaited<ReturnType<typeof messages>> = [];
      while (found.length === 0 && performance.now() - pressed < 5_000) found = await messages();
      const tookMs = performance.now() - pressed;
      expect(found).toEqual([
        expect.objectContaining({
          text: 'Too small for a thumb',
          has_picture: true,
          pin: expect.objectContaining({
            selector: expect.stringMatching(/(?:^|> )button$/),
            component: 'SaveForm',
            file: 'src/save-form.jsx',
          }),
        }),
      ]);
      expect(tookMs).toBeLessThan(1_000);
      const [comment] = found;
      const path = `/api/runs/${opened.runId}/inbox/${comment?.message_id}/replies`;
      await porthole.call('POST', path, { token: opened.agentToken, body: { text: 'It is larger now.' } });
      await page.getByRole('region', { name: 'Comments' }).getByText('It is larger now.').waitFor();
      await page.close();
      expect(watched.problems).toEqual([]);
    },
    LIMIT,
  );

  test(
    'has what a check of the page found after one press, and a slider compares two looks',
    async () => {
      const { api, sandbox, runId } = opened;
      // On a busy machine a look may go without its picture, and a slider needs two.
      const look = async () => {
        for (let tries = 0; tries < 5; tries += 1) {
          await porthole.call('POST', `/api/runs/${runId}/previews/3000/look`, { body: {} });
          const kept = await porthole.call('GET', `/api/runs/${runId}/looks`);
          if (kept.json<{ looks: { has_thumbnail: boolean }[] }>().looks[0]?.has_thumbnail === true) return;
        }
        throw new Error('no look has a thumbnail');
      };
      await look();
      await api.write(sandbox, 'index.html', `${HTML}<script>undefined.lines</script>`);
      await look();
      const page = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
      const watched = watch(page);
      await page.goto(`${porthole.host.url}/runs/${runId}?drawer=timeline`);
      const preview = page.getByRole('article', { name: 'Preview of port 3000' });
      await preview.getByRole('button', { name: 'Page check' }).click();
      await preview.getByRole('button', { name: 'Check page' }).click();
      await preview.getByRole('button', { name: 'Send to the agent' }).click({ timeout: 30_000 });
      await preview.getByText('Sent to the agent').waitFor();
      expect((await messages()).at(-1)?.text).toMatch(
        /^The page \/ on port 3000 is broken\. Porthole’s browser found:\n- Uncaught TypeError: .*lines/,
      );

      const pictures = page.getByRole('button', { name: 'Show the picture of the page' });
      await pictures.first().click();
      const dialog = page.getByRole('dialog');
      const slider = dialog.getByRole('slider', { name: 'Before and after' });
      await slider.focus();
      const share = () =>
        page.evaluate(`getComputedStyle(document.querySelector('img[alt^="Before"]')).clipPath`);
      expect(await share()).toBe('inset(0px 50% 0px 0px)');
      await page.keyboard.press('Home');
      await page.keyboard.press('ArrowRight');
      expect([await slider.inputValue(), await share()]).toEqual(['1', 'inset(0px 99% 0px 0px)']);
      expect(await dialog.getByRole('img', { name: /^After/ }).evaluate(widthOf)).toBe(1_280);
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.close();
      // The error of the page itself, and none of the console.
      expect(watched.problems).toEqual([expect.stringContaining("reading 'lines'")]);
    },
    LIMIT,
  );

  test(
    'is never accepted from a page: 200 forged ones',
    async () => {
      const context = await browser.newContext();
      const person = await context.newPage();
      await person.goto(porthole.host.url);
      const page = await context.newPage();
      await page.goto(new URL('forge.html', opened.url).href);
      await page.waitForFunction('document.title === "forged"', undefined, { timeout: 60_000 });
      await context.close();
      // What the page's requests come down to, whatever the browser lets through.
      const { origin } = new URL(opened.url);
      const body = { text: 'forged' };
      for (const headers of [{ origin }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
        const forged = await porthole.call('POST', `/api/runs/${opened.runId}/inbox`, { body, headers });
        expect([forged.status, forged.json()['code']]).toEqual([403, 'origin_not_allowed']);
      }
      expect((await messages()).filter(({ text }) => text === 'forged')).toEqual([]);
    },
    LIMIT,
  );
});

/** A development build of the app with its source map, as a bundler writes it. */
async function reactApp(): Promise<Record<string, string>> {
  const sources: Readonly<Record<string, string>> = { 'src/main.jsx': MAIN, 'src/save-form.jsx': FORM };
  const { resolve } = createRequire(import.meta.url);
  const { outputFiles } = await build({
    entryPoints: ['src/main.jsx'],
    bundle: true,
    write: false,
    outdir: '/workspace',
    entryNames: 'app',
    absWorkingDir: '/workspace',
    sourcemap: true,
    jsx: 'automatic',
    jsxDev: true,
    define: { 'process.env.NODE_ENV': '"development"' },
    plugins: [
      {
        name: 'sources',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /\.jsx$/ }, ({ path }) => ({
            path: `/workspace/src/${path.replace(/^.*\//, '')}`,
          }));
          onLoad({ filter: /^\/workspace\/src\// }, ({ path }) => ({
            contents: sources[path.replace('/workspace/', '')] ?? '',
            loader: 'jsx',
          }));
          onResolve({ filter: /^react/ }, ({ path }) => ({ path: resolve(path) }));
        },
      },
    ],
  });
  return Object.fromEntries(outputFiles.map(({ path, text }) => [path.replace('/workspace/', ''), text]));
}
