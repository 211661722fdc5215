/** What the route of a preview sets on every response. An answer that bears them all has come through it. */
export const ROUTE_RESPONSE_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex, nofollow',
} as const;
