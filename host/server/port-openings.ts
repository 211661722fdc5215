import type { IncomingMessage } from 'node:http';
import { PortholeError } from '#base/errors.ts';
import { parsePortHost, type SandboxPort } from '#core/previews/port-host.ts';
import { endWith } from '#proxy/front/raw-answer.ts';
import { TRAFFIC_HEADER } from '#proxy/preview-headers.ts';
import type { PreviewProxy } from '#proxy/preview-proxy.ts';
import { answerWithPage, rawPageAnswer } from '#proxy/status-answer.ts';
import type { PreviewStatus } from '#proxy/status-page.ts';

export interface PortOpeningsDeps {
  /** Of the hosts of ports; undefined: they have none. */
  readonly zone: string | undefined;
  readonly isServed: (port: SandboxPort) => boolean;
  readonly open: (port: SandboxPort, token: string, req: IncomingMessage) => Promise<void>;
  readonly log: { warn(fields: object, message: string): void };
}

/**
 * The gateway, which opens the preview of a port for the first program that calls the port's host
 * with the traffic token of its sandbox.
 */
export function withPortOpenings(
  gateway: PreviewProxy,
  { zone, isServed, open, log }: PortOpeningsDeps,
): PreviewProxy {
  if (zone === undefined) return gateway;
  const before = (
    req: IncomingMessage,
    key: string,
    serve: () => void,
    refuse: (status: PreviewStatus) => void,
  ): void => {
    const token = req.headers[TRAFFIC_HEADER];
    const port = typeof token === 'string' ? parsePortHost(key, zone) : undefined;
    if (port === undefined || typeof token !== 'string' || isServed(port)) return serve();
    open(port, token, req).then(serve, (err: unknown) => {
      log.warn({ err, sandbox_id: port.sandboxId }, 'the preview of a port was not opened');
      refuse(statusOf(err));
    });
  };
  return {
    ...gateway,
    handleRequest(req, res, key, expectsContinue) {
      before(
        req,
        key,
        () => gateway.handleRequest(req, res, key, expectsContinue),
        (status) => answerWithPage(req, res, status, {}, expectsContinue),
      );
    },
    handleUpgrade(req, socket, head, key) {
      before(
        req,
        key,
        () => gateway.handleUpgrade(req, socket, head, key),
        (status) => endWith(socket, rawPageAnswer(req, status).bytes),
      );
    },
  };
}

function statusOf(error: unknown): PreviewStatus {
  if (!(error instanceof PortholeError)) return 'unreachable';
  if (error.code === 'no_bound_sandbox') return 'sandbox_stopped';
  if (error.code === 'port_out_of_range') return 'not_open';
  return error.code === 'too_many_previews' || error.code === 'quota_exceeded' ? 'busy' : 'unreachable';
}
