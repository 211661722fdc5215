import { z } from 'zod';
import { comparePages } from '#core/pages/compare-pages.ts';
import { pageReport } from '#core/pages/page-report.ts';
import { findSandbox } from '#core/sandboxes/resume-sandbox.ts';
import { portNumber } from '../http/read-input.ts';
import { defineRoute, json } from '../route.ts';
import { findCompared } from '../sandboxes/compare-route.ts';
import { SandboxPath } from '../sandboxes/sandbox-path.ts';
import { LookDto, toLookDto, visitFields } from './page-dto.ts';
import { PAGE_ERRORS } from './page-routes.ts';

const Pages = z
  .object({ one: LookDto, other: LookDto.describe('Its `difference` is that from `one`') })
  .meta({ id: 'PageComparison' });

export const comparePagesRoute = defineRoute('comparePages', 'POST', '/v1/sandbox/{id}/compare/page', {
  tag: 'Checkpoints',
  summary: 'Compare a page of a sandbox with that of a fork',
  description:
    'Opens the same page of this sandbox (`one`) and of the other one in a browser, one after the other: what differs in picture, outline and console, with the errors and timings of each. Both need a live preview of the port. Takes 40 s at most.',
  class: 'stream',
  agents: true,
  params: SandboxPath,
  body: z
    .strictObject({
      with: z.string().max(400).describe('Id of the other sandbox'),
      port: portNumber,
      path: visitFields.path,
    })
    .meta({ id: 'ComparePagesRequest', example: { with: 'fork-1', port: 3000 } }),
  responses: { 200: { description: 'What was seen', schema: Pages } },
  errors: ['sandbox_not_found', ...PAGE_ERRORS],
  async handle({ params, body, caller, signal }, services) {
    const one = await findSandbox(services, caller, params.id, { agents: true });
    const other = await findCompared(services, caller, one, body.with);
    const looks = await comparePages(services, [one, other], body, signal);
    const toDto = (look: typeof looks.one) => toLookDto(pageReport('look', look));
    return json(200, { one: toDto(looks.one), other: toDto(looks.other) });
  },
});
