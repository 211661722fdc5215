import { createServer, type Server, type Socket } from 'node:net';
import { connectInFolder, listenInFolder } from '#adapters/sandboxes/channel/folder-socket.ts';

const NAME = 'init.sock';

/**
 * Opens the socket that an init will listen on. It lies in a folder that is never shown inside a sandbox, and the init gets its
 * descriptor: so nothing inside can put another file, or a link to another socket of the host, in its place.
 */
export async function openInitSocket(folder: string): Promise<Server> {
  const server = createServer();
  await listenInFolder(server, folder, NAME);
  return server;
}

/** Connects to a sandbox's init. @throws the system's error when nobody listens */
export function connectToInit(folder: string): Promise<Socket> {
  return connectInFolder(folder, NAME);
}
