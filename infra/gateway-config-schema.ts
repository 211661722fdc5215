import { X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { orOutput } from './placeholders.ts';
import { ACCESS_LEVELS } from '../protocol/preview-access.ts';
import { SandboxPodSchema } from '../protocol/settings/sandbox-pod-schema.ts';

export const text = z.string().trim().min(1, 'must not be empty');
export const whole = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.int(message).min(min, message).max(max, message);
};
/** RFC 1123: names of namespaces, Secrets, templates. */
export const label = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a lower-case DNS label of at most 63 characters');
export const dnsName = orOutput(
  z
    .string()
    .regex(
      /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
      'must be a lower-case DNS name of two labels or more',
    ),
);
export const httpUrl = orOutput(z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }));
/** RFC 1123 subdomain: names of most objects. */
export const objectName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
    'must be the lower-case name of an object, e.g. standard-rwo',
  );
const PATH_PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
/** The grammar of the distribution project; a registry has a dot or a port, or is `localhost`. */
export const imageReference = text.regex(
  new RegExp(
    `^(?:(?:localhost|[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:)|\\[[0-9a-f:]+\\](?=:))(?::\\d+)?/)?${PATH_PART}(?:/${PATH_PART})*(?::\\w[\\w.-]{0,127})?(?:@[a-z0-9]+:[a-f0-9]+)?$`,
  ),
  'must be the reference of an image, e.g. registry.example.com/app:1',
);
/** Labels of pods. */
export const podLabels = SandboxPodSchema.shape.nodeSelector.unwrap();
export const certificate = orOutput(
  z
    .string()
    .regex(/-----BEGIN CERTIFICATE-----\s[\s\S]*-----END CERTIFICATE-----\s*$/, 'must be certificates in PEM')
    .refine(isReadable, 'has a block that is not a certificate: give the PEM file of the CA as it is'),
);

function isReadable(pem: string): boolean {
  try {
    // It reads the first block only. Text before a block is a comment (RFC 7468).
    for (const block of pem.split(/(?=-----BEGIN CERTIFICATE-----)/)) {
      if (block.startsWith('-----BEGIN')) void new X509Certificate(block);
    }
    return true;
  } catch {
    return false;
  }
}

const notes = z.record(text, z.string()).default({});

const ExistingGateway = z.strictObject({
  name: label.describe('Name of a Gateway that is managed elsewhere; it is not changed'),
  namespace: label.describe('Its namespace'),
  sectionName: label
    .optional()
    .describe(
      'Its listener for `*.{zone}`, which must allow routes from both namespaces; required without `listenerSet`',
    ),
});

/** The Gateway of a zone: a new one, or an existing one. */
const ZoneGateway = {
  listenerSet: z
    .enum(['ListenerSet', 'XListenerSet'])
    .optional()
    .describe(
      "Adds the listeners to the existing Gateway by such an object in the functions' namespace: `ListenerSet` (Gateway API 1.5) or `XListenerSet` (experimental, 1.3 and 1.4). The Gateway must allow it (`allowedListeners`)",
    ),
  className: label.optional().describe('GatewayClass that serves it; required without `gateway.existing`'),
  annotations: notes.describe('Annotations of the Gateway, e.g. for external-dns'),
  labels: notes.describe('Labels of the Gateway'),
  infrastructure: z
    .strictObject({
      annotations: notes.describe("Annotations of the gateway's Service, e.g. for an internal load balancer"),
      labels: notes.describe("Labels of the gateway's Service and pods"),
      parametersRef: z
        .strictObject({
          group: text.describe("API group of the object with the controller's parameters"),
          kind: text.describe('Kind of that object'),
          name: text.describe('Name of that object'),
        })
        .optional()
        .describe("Object with the controller's own parameters: `{group, kind, name}`"),
    })
    .optional(),
  addresses: z
    .array(z.strictObject({ type: text.default('IPAddress'), value: text }))
    .default([])
    .describe('Requested addresses: `{type?, value}` each; any by default'),
};

export const Gateway = {
  existing: ExistingGateway.extend({
    apiSectionName: label
      .optional()
      .describe("Its listener for the API's host; by default, all listeners with a matching hostname"),
  }).optional(),
  name: label
    .default('agentweaver-preview-gateway')
    .describe('Name of the Gateway or ListenerSet that is created'),
  ...ZoneGateway,
  port: whole(1, 65_535).default(443).describe('Port of the gateway in URLs'),
  listenerPort: whole(1, 65_535)
    .optional()
    .describe(
      "Port of the Gateway's listeners, if it differs from `port`: Traefik's chart listens on 8443 behind port 443 of its Service",
    ),
  podNamespace: label.describe(
    "Namespace of the gateway's own pods, the only pods that may connect to sandboxes",
  ),
  podLabels: podLabels
    .refine((labels) => Object.keys(labels).length > 0, 'must have at least one label')
    .describe("Labels of the gateway's own pods"),
  serviceKind: z
    .enum(['headless', 'clusterip'])
    .default('headless')
    .describe(
      'Service of a preview: `headless`, or `clusterip` for gateways that connect to the address of a Service',
    ),
  probe: z
    .strictObject({
      url: httpUrl.describe(
        "URL at which the functions reach the gateway's proxies, preferably through a headless Service, e.g. `https://traefik.traefik.svc`; without it, readiness is the status of the HTTPRoute",
      ),
      ca: certificate
        .optional()
        .describe("PEM of the authority that signed the gateway's certificate, if it is not a public one"),
    })
    .optional(),
};

export const Zone = z.strictObject({
  zone: dnsName.describe('Domain of its previews; no zone may contain another'),
  orgs: z
    .array(text)
    .min(1, 'must name an org: previews of all other orgs are in `zone`')
    .describe('Orgs that have their previews in it'),
  access: z.enum(ACCESS_LEVELS).optional().describe('As `preview.access`, for its previews'),
  maxAccess: z.enum(ACCESS_LEVELS).optional().describe('As `preview.maxAccess`, for its previews'),
  gateway: z
    .strictObject({
      existing: ExistingGateway.optional(),
      name: label
        .default('porthole-zone')
        .describe('Name of the Gateway or ListenerSet that is created; each needs its own'),
      ...ZoneGateway,
      className: label.optional().describe('GatewayClass that serves it; `gateway.className` by default'),
      secret: label
        .optional()
        .describe("TLS Secret for `*.{zone}`, in the Gateway's namespace; by default `{name}-tls`"),
    })
    .prefault({}),
});

export const Certificates = {
  previewSecret: label
    .default('porthole-preview-tls')
    .describe("TLS Secret for `*.{zone}`, in the Gateway's namespace"),
  apiSecret: label
    .default('porthole-api-tls')
    .describe("TLS Secret for the API's host, in the Gateway's namespace"),
  issuer: z
    .strictObject({
      name: label.describe('cert-manager issuer that fills both Secrets; without it they must exist'),
      kind: z.enum(['ClusterIssuer', 'Issuer']).default('ClusterIssuer').describe('Kind of the issuer'),
    })
    .optional(),
};
