import { z } from 'zod';

const text = z.string().min(1, 'must not be empty').max(512, 'must be at most 512 characters');

const Binding = z
  .strictObject({
    bucket: z
      .string()
      .regex(
        /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/,
        'must be 1 to 63 lowercase letters, digits, dots and hyphens',
      ),
    endpoint: z
      .url({ protocol: /^https?$/, error: 'must be an http or https origin' })
      .refine(
        (value) => new URL(value).href === `${new URL(value).origin}/`,
        'must be an origin, without a path',
      )
      .transform((value) => new URL(value).origin),
    region: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a region, e.g. eu-west-1')
      .optional(),
    prefix: z
      .string()
      .regex(/^\/(?!.*(^|\/)\.\.?(\/|$))[^\p{Cc}]*$/u, 'must start with a slash and have no part . or ..')
      .optional(),
    read_only: z.boolean('must be true or false').default(false),
    access_key_id: text.optional(),
    secret_access_key: text.optional(),
    open_to: z
      .array(
        z.strictObject({
          org: z.string('must be the name of an org').min(1, 'must be the name of an org'),
          user: text.optional(),
        }),
      )
      .default([]),
  })
  .refine(
    (binding) => (binding.access_key_id === undefined) === (binding.secret_access_key === undefined),
    'set access_key_id and secret_access_key, or neither',
  )
  .transform(({ read_only, access_key_id, secret_access_key, open_to, ...binding }) => ({
    ...binding,
    readOnly: read_only,
    openTo: open_to,
    credentials:
      access_key_id === undefined || secret_access_key === undefined
        ? undefined
        : { accessKeyId: access_key_id, secretAccessKey: secret_access_key },
  }));

/** Buckets by the names that callers mount. */
export const BucketsSchema = z.record(
  z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, 'a name has 1 to 100 letters, digits, _, . and -'),
  Binding,
);

/** Origins, separated by commas; `*` matches one label of a host name. */
export const MountEndpointsSchema = z
  .string()
  .transform((value) =>
    value
      .split(',')
      .map((origin) => origin.trim().toLowerCase().replace(/\/$/, ''))
      .filter((origin) => origin !== ''),
  )
  .pipe(
    z.array(
      z
        .string()
        .regex(
          /^https?:\/\/(\[[0-9a-f:]+\]|[a-z0-9*-]+(\.[a-z0-9*-]+)*)(:\d{1,5})?$/,
          'must be origins, e.g. https://s3.example.com, with * for a label',
        ),
    ),
  );
