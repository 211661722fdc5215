/**
 * Headers that a preview's route sets on every response. A response with all of them came through
 * the route.
 */
export const ROUTE_RESPONSE_HEADERS = {
  // Not `no-referrer`: browsers then send `Origin: null` with forms, and frameworks refuse them.
  'Referrer-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex, nofollow',
} as const;
