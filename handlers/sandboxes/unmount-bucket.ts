import { z } from 'zod';
import { requirePerson } from '#core/callers.ts';
import { readUnmountRequest } from '#core/rules/mount-request.ts';
import { unmountBucket } from '#core/use-cases/unmount-bucket.ts';
import { useSandbox } from '#core/use-cases/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { SandboxPath } from './sandbox-path.ts';

/** For the document; the rules judge the body. */
const Body = z.unknown().meta({
  id: 'UnmountBucketRequest',
  type: 'object',
  required: ['mountPath'],
  properties: { mountPath: { type: 'string', description: 'Absolute', example: '/mnt/data' } },
});

export const unmountBucketRoute = defineRoute({
  id: 'unmountBucket',
  method: 'POST',
  path: '/v1/sandbox/{id}/unmount',
  tag: 'Sandboxes',
  summary: 'Unmount a bucket',
  description:
    'What was written to a file is in the bucket once the file is closed; what is open is cut off.',
  access: 'caller',
  bridge: true,
  params: SandboxPath,
  body: Body,
  responses: {
    200: { description: 'Unmounted', schema: z.object({ ok: z.literal(true) }).meta({ id: 'OkResponse' }) },
  },
  errors: ['sandbox_not_found', 'sandbox_not_running', 'unmount_error', 'exec_transport_error'],
  async handle({ params, body, caller, signal }, services) {
    const sandbox = await useSandbox(services, requirePerson(caller, 'unmount buckets'), params.id);
    await unmountBucket(services, sandbox.id, readUnmountRequest(body), signal);
    return json(200, { ok: true });
  },
});
