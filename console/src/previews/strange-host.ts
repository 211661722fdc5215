/** This machine by a name that the console is not at: cookies know no ports, and whoever follows a link to a preview is not to send it the console's. */
export function strangeHost(own: string): string {
  return own === '127.0.0.1' ? 'localhost' : '127.0.0.1';
}
