import { once } from 'node:events';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { connectionTo, type GatewayTarget, publicHost, reasonOf } from './ask-gateway.ts';
import { type Finding, found, lacking } from './finding.ts';

/** An upgrade, and a message in each direction. */
export async function checkWebSocket(target: GatewayTarget, signal: AbortSignal): Promise<Finding> {
  const socket = new WebSocket(`wss://${publicHost(target)}/socket`, {
    createConnection: () => connect(connectionTo(target)),
    perMessageDeflate: false,
  });
  try {
    await once(socket, 'open', { signal });
    const answered = once(socket, 'message', { signal });
    socket.send('hello');
    await answered;
    return found('websocket', 'upgraded, and a message passed in each direction');
  } catch (error) {
    return lacking(
      'websocket',
      `no WebSocket (${reasonOf(error)})`,
      'allow upgrades of HTTP/1.1 in the gateway, and in load balancers in front of it',
    );
  } finally {
    // Ending a handshake that has not finished is an error, too.
    socket.on('error', () => undefined).terminate();
  }
}
