import type { MessageSocket } from '#core/ports/message-socket.ts';

/** The same socket, whose end `closed` is told as well. */
export function withClosing(socket: MessageSocket, closed: () => void): MessageSocket {
  return {
    listen: (listeners) =>
      socket.listen({
        message: (message) => listeners.message(message),
        sent: () => listeners.sent(),
        closed() {
          closed();
          listeners.closed();
        },
      }),
    send: (message) => socket.send(message),
    get waiting() {
      return socket.waiting;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    close: (code, reason) => socket.close(code, reason),
  };
}
