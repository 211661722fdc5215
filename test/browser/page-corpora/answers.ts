/** Answers of the small apps in this folder. */
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Answers itself where it returns nothing. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Answer | undefined;

/** What an app's server answers to paths below the app's own. */
export type App = Readonly<Record<string, Answer | Handler>>;

/** With what a check has to say of it. */
export type FaultyApp = { readonly says: RegExp } & Readonly<Record<string, Answer | Handler | RegExp>>;

type More = Partial<Omit<Answer, 'body'>>;

export const typed =
  (type: string) =>
  (body: Answer['body'], more: More = {}): Answer => ({
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
export const json = (value: unknown, more?: More): Answer =>
  typed('application/json')(JSON.stringify(value), more);
export const redirect = (location: string): Answer => ({ status: 302, headers: { location }, body: '' });
/** Never ends. */
export const pending: Handler = () => undefined;

/** A whole document. */
export const page = (title: string, body: string, head = ''): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>${head}</head><body>${body}</body></html>`;

export const app = (title: string, body: string, head?: string) => ({ '': html(page(title, body, head)) });

export const SANS =
  '<style>body{font:16px/1.5 system-ui,sans-serif;margin:0;padding:2rem;max-width:60rem}</style>';
