import type { WebSocket } from 'ws';

/** Between two pings, in milliseconds: proxies on the way take a WebSocket that is silent for a minute for dead. */
const HEARTBEAT_MS = 20_000;

/** A peer that owes an answer this long, in milliseconds, is gone. */
const SILENCE_MS = 60_000;

export interface Heartbeat {
  /** Something was sent that the peer may have to hold back, and every answer to a ping behind it. */
  sent(): void;
  stop(): void;
}

/**
 * Pings a WebSocket so that nobody on the way takes it for dead, and tells when the peer is. The peer reads in order: while it holds back what we sent it, or we
 * hold back what it sent us, it owes nothing; then only the kernel's own keep-alive tells.
 */
export function startHeartbeat(
  socket: WebSocket,
  lost: () => void,
  { heartbeatMs = HEARTBEAT_MS, silenceMs = SILENCE_MS } = {},
): Heartbeat {
  let heardAt = performance.now();
  let isBehind = false;
  const heard = (): void => {
    heardAt = performance.now();
  };
  const answered = (): void => {
    heard();
    isBehind = false;
  };
  const heartbeat = setInterval(() => {
    if (socket.isPaused || isBehind) heard();
    else if (performance.now() - heardAt > silenceMs) return lost();
    if (socket.readyState === socket.OPEN) socket.ping();
  }, heartbeatMs);
  // It keeps no process alive.
  heartbeat.unref();
  socket.on('message', heard);
  socket.on('pong', answered);
  const stop = (): void => {
    clearInterval(heartbeat);
    socket.off('message', heard);
    socket.off('pong', answered);
  };
  socket.once('close', stop);
  return { sent: () => (isBehind = true), stop };
}
