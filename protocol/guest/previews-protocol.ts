/**
 * The guest as the upstream of previews: gateway → Service → the guest's preview port → the app on
 * loopback. The functions open and close previews by `PUT` and `DELETE /v1/previews/{port}`.
 */
import * as z from 'zod/mini';

/**
 * Port of the pod on which the guest serves previews. Outside of the default range of preview ports
 * (3000 to 9000) and of ephemeral ports (from 32768), so that no app needs it.
 */
export const GUEST_PREVIEW_PORT = 2791;

/**
 * Request header with the app's port. The preview's route overwrites it, so a client cannot set it.
 */
export const PREVIEW_PORT_HEADER = 'X-Porthole-Port';

/** Maximum previews of a guest, including closed ones; the oldest are forgotten. */
export const MAX_OPEN_PREVIEWS = 256;

const origin = z
  .string()
  .check(
    z.maxLength(300),
    z.regex(/^https?:\/\/[a-z0-9.[\]:-]+$/, 'must be an origin, like https://a.example'),
  );

/** A host name in lower case, with the port if it is not 443, as browsers send it in Host. */
const publicHost = z
  .string()
  .check(
    z.maxLength(260),
    z.regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/, 'must be a host name in lower case'),
  );

/** `PUT /v1/previews/{port}`: the guest now serves this host with the app on the port. */
export const openPreviewRequest = z.object({
  host: publicHost,
  /** Previews of one run reach each other as servers on localhost do. */
  run: z.string().check(z.minLength(1), z.maxLength(128)),
  /**
   * Hard end of the preview. The functions end it earlier by `DELETE`, or by removing its route.
   */
  expires_at: z.iso.datetime(),
  /** Origins that may show the preview in a frame: the console's. */
  frame_ancestors: z.array(origin).check(z.maxLength(16)),
  /**
   * Its gateway connects to the app's port: a connection from outside of the sandbox is use.
   * @default false
   */
  direct: z.optional(z.boolean()),
  /**
   * Where visitors report it.
   * @default - the operator of the domain
   */
  report_contact: z.optional(z.string().check(z.maxLength(300))),
  /**
   * Its pages reach `http://localhost:{port}` as a part of its host.
   * @default - as known, else false
   */
  maps_localhost: z.optional(z.boolean()),
  /**
   * Who may pass.
   * @default - everyone who has the URL
   */
  access: z.optional(
    z.object({
      level: z.string().check(z.maxLength(32)),
      epoch: z.int().check(z.gte(0)),
      revoked: z.array(z.string().check(z.maxLength(64))).check(z.maxLength(256)),
      /**
       * The host by name at which it is served, too.
       * @default - only at its own
       */
      named_host: z.optional(publicHost),
      /** Page at which a visitor gets a ticket. */
      open_url: z.string().check(z.maxLength(300), z.regex(/^https?:\/\//)),
      /** Name of the preview in that page's address. */
      name: z.string().check(z.maxLength(64)),
      /** Public keys that verify tickets. */
      keys: z.array(z.string().check(z.regex(/^[\w-]{43}$/))).check(z.maxLength(16)),
    }),
  ),
});
export type OpenPreviewRequest = z.infer<typeof openPreviewRequest>;

const count = z.number().check(z.gte(0));

/** `GET /v1/previews` */
export const openPreviewsAnswer = z.object({
  previews: z
    .array(
      z.object({
        port: z.int().check(z.gte(1), z.lte(65_535)),
        host: z.string().check(z.maxLength(260)),
        /**
         * Time since the last bytes from or to a visitor, in milliseconds, or of a direct preview
         * since its last connection was open; null: none since the guest started.
         */
        idle_ms: z.nullable(count),
        /** Body and WebSocket bytes from visitors, and to them. */
        bytes_in: count,
        bytes_out: count,
        /**
         * Epoch of its access.
         * @default - the guest is of a version that serves everyone who has the URL
         */
        access_epoch: z.optional(z.int()),
        /**
         * The host by name of its access.
         * @default - none, or the guest is of a version that serves none
         */
        named_host: z.optional(z.string().check(z.maxLength(260))),
      }),
    )
    .check(z.maxLength(MAX_OPEN_PREVIEWS)),
});
export type OpenPreviewsAnswer = z.infer<typeof openPreviewsAnswer>;
