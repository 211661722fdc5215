/**
 * What the route of a preview sets on every response. An answer that bears them all has come
 * through it.
 */
export const ROUTE_RESPONSE_HEADERS = {
  // Not `no-referrer`: browsers then send `Origin: null` with forms, and frameworks refuse them.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow',
} as const;
