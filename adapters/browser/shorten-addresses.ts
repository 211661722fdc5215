import type { PageVisit } from '#core/pages/page-browser.ts';

/** A preview's origin contains its token: replace it by paths, and other previews by their port. */
export function shorten(text: string, { origin, siblings }: PageVisit): string {
  let short = text;
  for (const sibling of siblings) {
    for (const scheme of ['', 'ws']) {
      short = short.replaceAll(
        scheme + sibling.origin.slice(scheme === '' ? 0 : 4),
        `preview:${sibling.port}`,
      );
    }
  }
  const socket = origin.replace(/^http/, 'ws');
  for (const own of [origin, socket]) short = short.replaceAll(`${own}/`, '/').replaceAll(own, 'the preview');
  const { host, hostname } = new URL(origin);
  // A text that is cut off may end within the name.
  const [label = hostname] = hostname.split('.');
  const hidden = short.replaceAll(host, 'the preview');
  // Other names are ordinary words.
  return label.endsWith('-preview') ? hidden.replaceAll(label, 'the preview') : hidden;
}

export function hostPort(origin: string): string {
  const { hostname, port, protocol } = new URL(origin);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
