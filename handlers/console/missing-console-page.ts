import { createHash } from 'node:crypto';
import type { ConsoleBuild } from './console-files.ts';

const STYLE =
  'html{color-scheme:light dark;font:15px/1.6 system-ui,sans-serif;background:#f7f8fa;color:#171a1f}' +
  'body{margin:0;display:grid;place-items:center;min-height:100dvh}main{width:min(560px,100vw - 40px);padding:32px 0}' +
  'h1{font-size:22px;line-height:1.25;margin:0 0 8px}pre{padding:12px;border-radius:8px;background:#eceff3;font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere}' +
  'a{color:#1f5eff}@media (prefers-color-scheme:dark){html{background:#0d0f13;color:#e8ebf0}pre{background:#222731}a{color:#6d97ff}}';

/**
 * Reloads the page once it would differ. Reloading at each poll would move screen readers back to
 * the top.
 */
const SCRIPT =
  'const look=()=>fetch("",{cache:"no-store"}).then((it)=>it.text()).then((it)=>it.includes(document.title)?setTimeout(look,1000):location.reload(),()=>setTimeout(look,2000));setTimeout(look,1000)';

/** CSP: allows its own style, and the script that polls. */
export const MISSING_CONSOLE_POLICY = [
  "default-src 'none'",
  `style-src '${digestOf(STYLE)}'`,
  `script-src '${digestOf(SCRIPT)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Page without a console build: says that the build is running and reloads, or why it failed and
 * what to do.
 * @param open whether the caller may see the builder's output, which names folders of this machine
 */
export function missingConsolePage(build: ConsoleBuild, open: boolean): string {
  if (build.state === 'under way') {
    return page(
      'The console is being built',
      '<p role="status">This takes some seconds after the first start. The page then loads by itself.</p>',
      `<script type="module">${SCRIPT}</script>\n<noscript><meta http-equiv="refresh" content="2"></noscript>\n`,
    );
  }
  if (build.state === 'failed') {
    return page(
      'The console could not be built',
      `<p>Everything else runs. Run <code>npm ci</code> and then <code>npm run build</code> in Porthole’s folder; afterwards <a href="">load this page again</a>.</p>
${open ? `<p>The builder said:</p>\n<pre>${escape(build.words)}</pre>` : '<p>The log says why.</p>'}`,
    );
  }
  return page(
    'The console is not built',
    `<p>Run <code>npm run build</code> in Porthole’s folder, then <a href="">load this page again</a>. <code>npm start</code> builds it by itself.</p>`,
  );
}

function page(title: string, body: string, more = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${more}<title>${title} · Porthole</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
<p>The API is up: <a href="/v1/openapi">its documentation</a>.</p>
</main>
</body>
</html>
`;
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

function escape(text: string): string {
  return text.replace(/[&<>]/g, (each) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[each] ?? '');
}
