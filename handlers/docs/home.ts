import { defineRoute } from '../route.ts';

/** The address that the host prints is one that people open. */
export const homeRoute = defineRoute({
  id: 'getHome',
  method: 'GET',
  path: '/',
  tag: 'Docs',
  summary: 'Leads to the page of this document',
  access: 'anyone',
  page: true,
  responses: { 302: { description: 'To /v1/openapi' } },
  handle: () => Promise.resolve({ statusCode: 302, headers: { location: '/v1/openapi' } }),
});
