import { z } from 'zod';

const PORT_MESSAGE = 'must be an integer between 1 and 65535';
const port = z.number(PORT_MESSAGE).int(PORT_MESSAGE).min(1, PORT_MESSAGE).max(65_535, PORT_MESSAGE);

/** `{target_port}`, or `{targetPort}` as the legacy clients spell it; never both. */
export const StartPreviewBody = z
  .strictObject({
    target_port: port.optional().describe('Port inside the sandbox'),
    targetPort: port.optional().describe('The same, as legacy clients spell it'),
    rotate: z.boolean().default(false).describe('End the present URL of the port and open a new one'),
  })
  .meta({ id: 'StartPreviewRequest' })
  .transform(({ target_port, targetPort, rotate }, context) => {
    const chosen = target_port ?? targetPort;
    if (chosen === undefined || (target_port !== undefined && targetPort !== undefined)) {
      context.addIssue({
        code: 'custom',
        path: ['target_port'],
        message: chosen === undefined ? PORT_MESSAGE : 'say either target_port or targetPort, not both',
      });
      return z.NEVER;
    }
    return { targetPort: chosen, rotate };
  });
