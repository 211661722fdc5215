import { once } from 'node:events';
import { connect, type PeerCertificate } from 'node:tls';
import { connectionTo, type GatewayTarget, reasonOf } from './ask-gateway.ts';
import { type Finding, found, lacking } from './finding.ts';

/** A certificate for any host of the zone, of an authority that clients trust. */
export async function checkCertificate(target: GatewayTarget, signal: AbortSignal): Promise<Finding> {
  const names = `*${target.hostname.slice(target.hostname.indexOf('.'))}`;
  const socket = connect({ ...connectionTo(target), ...(target.ca !== undefined && { ca: target.ca }) });
  try {
    await once(socket, 'secureConnect', { signal });
    const fault = socket.authorized ? undefined : String(socket.authorizationError);
    return certificateFinding(names, socket.getPeerCertificate(), fault);
  } catch (error) {
    signal.throwIfAborted();
    return lacking(
      'certificate',
      `no TLS (${reasonOf(error)})`,
      'end TLS at the listener, with a certificate',
    );
  } finally {
    socket.destroy();
  }
}

function certificateFinding(
  names: string,
  { valid_to: expires }: PeerCertificate,
  fault: string | undefined,
): Finding {
  switch (fault) {
    case undefined:
      return found('certificate', `valid for ${names} until ${expires}`);
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return lacking(
        'certificate',
        `not valid for ${names}`,
        `name a Secret with a certificate for ${names} in the listener's certificateRefs`,
      );
    case 'CERT_HAS_EXPIRED':
      return lacking('certificate', `expired: ${expires}`, 'renew it');
  }
  return lacking(
    'certificate',
    `not of a trusted authority (${fault})`,
    "use one of a public authority, or set --ca to the PEM file of your own; every visitor's browser must trust it, too",
  );
}
