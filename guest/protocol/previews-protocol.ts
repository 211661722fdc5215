/**
 * The guest as the upstream of previews: gateway → Service → the guest's preview port → the app on
 * loopback. The functions open and close previews by `PUT` and `DELETE /v1/previews/{port}`.
 */
import * as z from 'zod/mini';

/**
 * Port of the pod on which the guest serves previews. Below the default range of ports that
 * previews may expose (3000 to 9000), and no port of outgoing connections (from 32768): no app
 * wants it.
 */
export const GUEST_PREVIEW_PORT = 2791;

/**
 * Request header with the app's port. The preview's route sets it, so what a client sends is lost.
 */
export const PREVIEW_PORT_HEADER = 'X-Porthole-Port';

/** Previews that a guest knows at most, closed ones included; the oldest are forgotten. */
export const MAX_OPEN_PREVIEWS = 256;

const origin = z
  .string()
  .check(
    z.maxLength(300),
    z.regex(/^https?:\/\/[a-z0-9.[\]:-]+$/, 'must be an origin, like https://a.example'),
  );

/** A host name in lower case, with the port where it is not 443: what browsers send as Host. */
const publicHost = z
  .string()
  .check(
    z.maxLength(260),
    z.regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/, 'must be a host name in lower case'),
  );

/** `PUT /v1/previews/{port}`: from now on the guest serves this host with the app on the port. */
export const openPreviewRequest = z.object({
  host: publicHost,
  /** Previews of one run may open WebSockets to each other. */
  run: z.string().check(z.minLength(1), z.maxLength(128)),
  /**
   * When the preview ends whatever happens. The functions end it sooner by `DELETE`, or by removing
   * its route.
   */
  expires_at: z.iso.datetime(),
  /** Origins that may show the preview in a frame: the console's. */
  frame_ancestors: z.array(origin).check(z.maxLength(16)),
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
         * How long ago a visitor last sent something, in milliseconds; null: never since the guest
         * started.
         */
        idle_ms: z.nullable(count),
        /** Body and WebSocket bytes from visitors, and to them. */
        bytes_in: count,
        bytes_out: count,
      }),
    )
    .check(z.maxLength(MAX_OPEN_PREVIEWS)),
});
export type OpenPreviewsAnswer = z.infer<typeof openPreviewsAnswer>;
