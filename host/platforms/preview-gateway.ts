import type { KeyObject } from 'node:crypto';
import { OPEN_ACCESS } from '#protocol/preview-access.ts';
import { readTicket } from '#protocol/guest/visit-tickets.ts';
import { AccessGate, openUrl } from '#proxy/access/access-gate.ts';
import { dialFailure } from '#adapters/previews/dial-failure.ts';
import type { LocalPlane } from '#adapters/previews/local-plane.ts';
import type { Clock } from '#base/clock-and-ids.ts';
import type { Records } from '#core/records.ts';
import type { Sandboxes } from '#core/sandboxes/sandbox-provider.ts';
import { findAsleep } from '#core/previews/asleep-previews.ts';
import { accessOf } from '#core/previews/preview-access.ts';
import { afterWaking } from '#core/previews/wake-preview.ts';
import type { Tokens } from '#core/auth/authenticator.ts';
import type { PreviewOptions } from '#core/previews/preview-limits.ts';
import { previewKept } from '#core/previews/preview-events.ts';
import { parsePortHost, type SandboxPort } from '#core/previews/port-host.ts';
import { slidingExpiry } from '#core/previews/preview-lifetime.ts';
import {
  isPreviewToken,
  parsePreviewHost,
  type PreviewHost,
  previewHost,
  previewName,
  tokenFingerprint,
  tokenSha256,
} from '#core/previews/preview-token.ts';
import type { GuessLimit } from '#core/auth/guess-limit.ts';
import type { TrafficCounter } from '#core/usage/traffic-counter.ts';
import type { Logger } from '#handlers/services.ts';
import { createPreviewProxy, type PreviewProxy } from '#proxy/preview-proxy.ts';
import { clientAddress, type TrustedProxies } from '#proxy/client-address.ts';
import { hiddenTarget, type PreviewLookup, type PreviewTarget } from '#proxy/preview-target.ts';
import type { MetricRecorder } from '../telemetry/metrics.ts';
import { tracePreviewRequest } from '../telemetry/trace-preview-request.ts';

export interface PreviewGatewayDeps {
  readonly plane: LocalPlane;
  readonly records: Records;
  readonly tokens: Pick<Tokens, 'preview' | 'traffic'>;
  readonly sandboxes: Sandboxes;
  readonly clock: Clock;
  readonly previewSettings: PreviewOptions;
  readonly scheme: 'http' | 'https';
  /** The origins of the console, which shows previews in frames. */
  readonly frameAncestors: () => readonly string[];
  /** Page at which visitors of previews that are not open to everyone get tickets. */
  readonly openPage: () => string;
  /** Public keys that verify tickets. */
  readonly ticketKeys: readonly KeyObject[];
  readonly log: Logger;
  readonly metrics: MetricRecorder;
  readonly traffic: Pick<TrafficCounter, 'add'>;
  /** Limits how many nonexistent tokens an address may look up. */
  readonly guesses: GuessLimit;
  readonly trustedProxies: TrustedProxies;
  /** Whether requests are traced, and the app continues their traces. */
  readonly isTraced: boolean;
}

/**
 * In milliseconds. A tenth of the shortest idle window: traffic extends the expiry, but not with
 * every request.
 */
const TOUCH_EVERY_MS = 6_000;

/** The local gateway: the proxy for the plane's previews. */
export function createPreviewGateway({
  plane,
  records,
  tokens,
  sandboxes,
  clock,
  previewSettings,
  scheme,
  frameAncestors,
  openPage,
  ticketKeys,
  log,
  metrics,
  traffic,
  guesses,
  trustedProxies,
  isTraced,
}: PreviewGatewayDeps): PreviewProxy {
  const keep = async ({ token, runId }: PreviewTarget, expiry: Date) => {
    const kept = await plane.touch(token, runId, expiry);
    if (kept !== undefined) await records.timeline.append(runId, previewKept(kept, 'traffic'), clock.now());
  };
  const gate = new AccessGate({
    read: (kind, ticket) => readTicket(ticketKeys, kind, ticket),
    openUrl: ({ token, namedHost }, path) => openUrl(openPage(), namedHost ?? previewName(token), path),
    now: () => clock.now().getTime(),
  });
  const { zoneSuffix: zone } = previewSettings;
  /** At a host that can be guessed a preview is never open to everyone. */
  const ofPort = (port: SandboxPort, namedHost: string): PreviewTarget => {
    const live = plane.lookupSandboxPort(port);
    if (live === undefined) return hiddenTarget(namedHost);
    const { access = OPEN_ACCESS, sandboxId: id, generation } = live;
    return {
      ...live,
      namedHost,
      access: access.level === 'link' ? { ...access, level: 'owner' } : access,
      trafficToken: tokens.traffic({ id, generation }),
    };
  };
  /** At a host by name no other name is a sibling: a preflight would tell whether it exists. */
  const named = (host: PreviewHost, ownNamedHost: string | undefined) =>
    host.kind === 'named' && ownNamedHost === undefined ? plane.lookupNamed(host.name) : undefined;
  const proxy = createPreviewProxy({
    gate,
    lookup(token, address): PreviewLookup | Promise<PreviewLookup> {
      const host = parsePreviewHost(token, zone);
      if (host.kind === 'named') {
        // Neither waits nor counts guesses: `/open` does, with the same answers for every name.
        const named = plane.lookupNamed(host.name);
        return { kind: 'live', target: named ? { ...named, namedHost: token } : hiddenTarget(token) };
      }
      const port = parsePortHost(token, zone);
      if (port !== undefined) return { kind: 'live', target: ofPort(port, token) };
      const live = plane.lookup(token);
      if (live !== undefined) return { kind: 'live', target: live };
      const retryAfterSeconds = guesses.blockedFor(address, token);
      if (retryAfterSeconds > 0) return { kind: 'limited', retryAfterSeconds };
      return afterWaking(records, token).then(async () => {
        const woken = plane.lookup(token);
        if (woken !== undefined) return { kind: 'live', target: woken };
        const found = await lookUpEnded({ records, tokens, previewSettings }, token);
        if (found.kind === 'unknown') guesses.wrong(address, token);
        return found;
      });
    },
    async dial({ token, sandboxId, targetPort }, signal) {
      await afterWaking(records, token, signal);
      return sandboxes.dial(sandboxId, targetPort, signal);
    },
    dialFailure,
    clientAddress: (req) => clientAddress(req, trustedProxies),
    visitor(req, { token }) {
      const { host = '' } = req.headers;
      const port = /:\d+$/.exec(host)?.[0] ?? '';
      return { scheme, host, audience: `${previewHost(token, zone)}${port}` };
    },
    traceRequest: isTraced ? tracePreviewRequest : undefined,
    reportContact: () => previewSettings.reportContact,
    fingerprint: tokenFingerprint,
    touched(target) {
      const live = plane.lookup(target.token);
      if (live?.expiresAt === undefined) return;
      const expiry = slidingExpiry(clock.now(), live.maxUntil, previewSettings);
      if (expiry.getTime() - live.expiresAt.getTime() < TOUCH_EVERY_MS) return;
      keep(target, expiry).catch((error: unknown) =>
        log.error({ err: error, run_id: target.runId }, 'traffic did not keep a preview alive'),
      );
    },
    siblings: ({ runId, sandboxId, namedHost }) => ({
      portOf(hostname) {
        const host = parsePreviewHost(hostname, zone);
        const other = host.kind === 'token' ? plane.lookup(host.token) : named(host, namedHost);
        return other?.runId === runId && other.sandboxId === sandboxId ? other.targetPort : undefined;
      },
      hostOf(targetPort) {
        const other = plane.lookupPort({ runId, sandboxId, targetPort });
        return other && previewHost(other.token, zone);
      },
      targetOf: (targetPort) => plane.lookupPort({ runId, sandboxId, targetPort }),
    }),
    frameAncestors,
    log,
    metrics: {
      answered(statusCode, by) {
        const status = by === 'app' ? `${Math.floor(statusCode / 100)}xx` : by;
        metrics.record('porthole_preview_requests_total', { status });
      },
      bytes(fromClient, toClient, { sandboxId }) {
        traffic.add(sandboxId, { previewBytes: fromClient + toClient });
        metrics.record('porthole_preview_bytes_total', { direction: 'in' }, fromClient);
        metrics.record('porthole_preview_bytes_total', { direction: 'out' }, toClient);
      },
      upgrades: (change) => metrics.record('porthole_preview_upgrades', {}, change),
    },
  });
  plane.onLimited((limited) => proxy.limit(limited));
  plane.onClosed((ended) => proxy.revoke(ended));
  return proxy;
}

async function lookUpEnded(
  deps: Pick<PreviewGatewayDeps, 'records' | 'tokens' | 'previewSettings'>,
  token: string,
): Promise<PreviewLookup> {
  // Hosts of the zone without a token need no look-up.
  if (!isPreviewToken(token)) return { kind: 'unknown' };
  const tombstone = await deps.records.previews.tombstone(tokenSha256(token));
  if (tombstone === undefined) return { kind: 'unknown', token };
  const asleep = await findAsleep(deps, { token });
  if (asleep !== undefined) {
    return { kind: 'asleep', target: { ...asleep, access: await accessOf(deps, asleep) } };
  }
  const { reason } = tombstone;
  return { kind: 'ended', reason: reason === 'max_lifetime' ? 'expired' : reason };
}
