/** A fault in a file of a project, and what a check of its page says. */
export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly says: RegExp;
}

const missingImport = (file: string, from: string, says: RegExp): Fault => ({
  name: 'an import that is missing',
  file,
  from,
  to: `import './nowhere.js';\n${from}`,
  says,
});

/** By project. A check of the page without a fault is `works`, for every project. */
export const FAULTS: Readonly<Record<string, readonly Fault[]>> = {
  vite: [
    missingImport('src/heading.js', 'export', /Vite shows an error: .*nowhere\.js.*src\/heading\.js:1/),
    {
      name: 'an error in a module',
      file: 'src/main.js',
      from: 'show(heading);',
      to: 'show(heading.missing.text);',
      says: /Uncaught TypeError: .*reading 'text'.*src\/main\.js:6/,
    },
  ],
  next: [
    {
      name: 'an import that is missing',
      file: 'app/page.js',
      from: './greeting',
      to: './nowhere',
      says: /Module not found: Can't resolve '\.\/nowhere'/,
    },
    {
      name: 'an error on the server',
      file: 'app/page.js',
      from: 'return (',
      to: "throw new Error('No orders');\n  return (",
      says: /No orders.*app\/page\.js:4/,
    },
    {
      name: 'an error in an effect',
      file: 'app/greeting.js',
      from: 'setHydrated(true)',
      to: "{ throw new Error('No session'); }",
      says: /No session.*app\/greeting\.js:9/,
    },
    {
      name: 'other text on the server',
      file: 'app/greeting.js',
      from: '{said}',
      to: "{typeof window === 'undefined' ? 'server' : 'client'}",
      says: /hydrat/i,
    },
  ],
  astro: [
    {
      name: 'an error on the server',
      file: 'src/pages/index.astro',
      from: 'export const prerender = false;',
      to: "export const prerender = false;\nthrow new Error('No orders');",
      says: /No orders.*src\/pages\/index\.astro/,
    },
    missingImport('src/pages/index.astro', 'export const', /nowhere\.js.*src\/pages\/index\.astro/),
  ],
  sveltekit: [
    missingImport('src/routes/+page.svelte', 'let hydrated', /nowhere\.js.*src\/routes\/\+page\.svelte/),
    {
      name: 'an error in an effect',
      file: 'src/routes/+page.svelte',
      from: 'hydrated = true;',
      to: "throw new Error('No session');",
      says: /No session.*src\/routes\/\+page\.svelte:5/,
    },
  ],
  nuxt: [
    {
      name: 'an error in setup',
      file: 'app/app.vue',
      from: 'onMounted(',
      to: "throw new Error('No orders');\nonMounted(",
      says: /No orders/,
    },
    missingImport('app/app.vue', 'const hydrated', /nowhere\.js/),
  ],
  webpack: [
    missingImport(
      'src/heading.js',
      'export',
      /webpack shows an error: .*Can't resolve '\.\/nowhere\.js'.*src\/heading\.js/,
    ),
    {
      name: 'an error in a module',
      file: 'src/main.js',
      from: 'show();',
      to: 'show(heading.missing.text);',
      says: /reading 'text'/,
    },
  ],
  angular: [
    {
      name: 'a template that does not compile',
      file: 'src/app.html',
      from: 'First version',
      to: '{{ missing.text }}',
      says: /Property 'missing' does not exist.*src\/app\.html:1/,
    },
    {
      name: 'an error in a component',
      file: 'src/app.ts',
      from: 'export class App {}',
      to: "export class App { constructor() { throw new Error('No orders'); } }",
      says: /No orders.*src\/app\.ts:4/,
    },
  ],
  django: [
    {
      name: 'a view that fails',
      file: 'shop/urls.py',
      from: 'TemplateView.as_view(template_name="index.html")',
      to: 'lambda request: 1 / 0',
      says: /Django shows an error: ZeroDivisionError at \/: division by zero \(app\/shop\/urls\.py:6\)/,
    },
    {
      name: 'a template that fails',
      file: 'shop/templates/index.html',
      from: '{% load static %}',
      to: '{% load nowhere %}',
      says: /Django shows an error: TemplateSyntaxError.*nowhere/,
    },
  ],
  flask: [
    {
      name: 'a view that fails',
      file: 'app.py',
      from: 'return render_template',
      to: '1 / 0\n    return render_template',
      says: /Flask shows an error: ZeroDivisionError: division by zero \(app\/app\.py:10\)/,
    },
    {
      name: 'a template that is missing',
      file: 'app.py',
      from: 'index.html',
      to: 'nowhere.html',
      says: /Flask shows an error: .*TemplateNotFound: nowhere\.html \(app\/app\.py:10\)/,
    },
  ],
  fastapi: [
    {
      name: 'a view that fails',
      file: 'main.py',
      from: 'return templates',
      to: '1 / 0\n    return templates',
      says: /answers 500: Internal Server Error/,
    },
  ],
  express: [
    {
      name: 'a script that is missing',
      file: 'public/index.html',
      from: '/socket.io/socket.io.js',
      to: '/socket.io.js',
      says: /The script \/socket\.io\.js answered 404/,
    },
  ],
  streamlit: [
    {
      name: 'a script that fails',
      file: 'app.py',
      from: '"First version"',
      to: '1 / 0',
      says: /Streamlit shows an error: ZeroDivisionError: division by zero.*app\.py:5/,
    },
  ],
};
