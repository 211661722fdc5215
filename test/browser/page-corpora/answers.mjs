// Answers of the small apps in this folder. Each app is a map from a path below its own to an answer.
const typed =
  (type) =>
  (body, more = {}) => ({
    status: 200,
    body,
    ...more,
    headers: { 'content-type': type, ...more.headers },
  });

export const html = typed('text/html; charset=utf-8');
export const text = typed('text/plain; charset=utf-8');
export const script = typed('text/javascript; charset=utf-8');
export const style = typed('text/css; charset=utf-8');
export const svg = typed('image/svg+xml');
export const json = (value, more) => typed('application/json')(JSON.stringify(value), more);
export const redirect = (location) => ({ status: 302, headers: { location }, body: '' });
/** Never ends. */
export const pending = () => undefined;

/** A whole document. */
export const page = (title, body, head = '') =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${head}</head><body>${body}</body></html>`;

/** A page of an app that has one file. */
export const app = (title, body, head) => ({ '': html(page(title, body, head)) });

export const SANS =
  '<style>body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:2rem;max-width:60rem}</style>';
