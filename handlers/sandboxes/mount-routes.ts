import { z } from 'zod';
import { mountBucket, unmountBucket } from '#core/mounts/mount-bucket.ts';
import { readMountRequest, readUnmountRequest } from '#core/mounts/mount-request.ts';
import { useSandbox } from '#core/sandboxes/use-sandbox.ts';
import { defineRoute, json } from '../route.ts';
import { GUEST_ERRORS, OkResponse, SandboxPath } from './sandbox-path.ts';

/** For the document; the rules validate the body, with the bridge's order and messages. */
const MountBucketBody = z.unknown().meta({
  id: 'MountBucketRequest',
  type: 'object',
  required: ['mountPath', 'options'],
  properties: {
    bucket: {
      type: 'string',
      description: 'Bucket at `options.endpoint`; without that, a name of PORTHOLE_BUCKETS',
    },
    binding: { type: 'string', description: 'A name of PORTHOLE_BUCKETS' },
    mountPath: { type: 'string', description: 'Absolute', example: '/mnt/data' },
    options: {
      type: 'object',
      properties: {
        endpoint: { type: 'string', description: 'Origin of the S3 server' },
        readOnly: { type: 'boolean', default: false },
        prefix: { type: 'string', description: 'Folder of the bucket, from a slash on' },
        credentials: {
          type: 'object',
          required: ['accessKeyId', 'secretAccessKey'],
          properties: { accessKeyId: { type: 'string' }, secretAccessKey: { type: 'string' } },
        },
        s3fsOptions: { type: 'array', items: { type: 'string' } },
        credentialProxy: {
          type: 'boolean',
          description: 'Ignored: credentials are never in the sandbox',
        },
      },
    },
  },
});

const mountBucketRoute = defineRoute('mountBucket', 'POST', '/v1/sandbox/{id}/mount', {
  tag: 'Sandboxes',
  summary: 'Mount a bucket',
  description:
    'Shows an S3-compatible bucket, or a folder of it, below /mnt or /workspace. It is served from outside the sandbox, which never sees the credentials, and ends with it.',
  bridge: true,
  params: SandboxPath,
  body: MountBucketBody,
  responses: {
    200: { description: 'Mounted', schema: OkResponse },
  },
  errors: ['mount_error', ...GUEST_ERRORS],
  async handle({ params, body, person, signal }, services) {
    const sandbox = await useSandbox(services, person, params.id);
    await mountBucket(services, person, sandbox.id, readMountRequest(body), signal);
    return json(200, { ok: true });
  },
});

/** For the document; the rules validate the body. */
const Body = z.unknown().meta({
  id: 'UnmountBucketRequest',
  type: 'object',
  required: ['mountPath'],
  properties: { mountPath: { type: 'string', description: 'Absolute', example: '/mnt/data' } },
});

const unmountBucketRoute = defineRoute('unmountBucket', 'POST', '/v1/sandbox/{id}/unmount', {
  tag: 'Sandboxes',
  summary: 'Unmount a bucket',
  description: 'A file is in the bucket once it is closed; open files are truncated.',
  bridge: true,
  params: SandboxPath,
  body: Body,
  responses: {
    200: { description: 'Unmounted', schema: OkResponse },
  },
  errors: ['unmount_error', ...GUEST_ERRORS],
  async handle({ params, body, person, signal }, services) {
    const sandbox = await useSandbox(services, person, params.id);
    await unmountBucket(services, sandbox.id, readUnmountRequest(body), signal);
    return json(200, { ok: true });
  },
});

export const mountRoutes = [mountBucketRoute, unmountBucketRoute];
