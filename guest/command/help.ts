/** The text of `porthole --help` in a sandbox. */
export type CommandName =
  | 'serve'
  | 'ps'
  | 'logs'
  | 'stop'
  | 'preview'
  | 'share'
  | 'status'
  | 'doctor'
  | 'check'
  | 'look'
  | 'inbox';

interface Help {
  readonly usage: string;
  /** One line, in the list of commands. */
  readonly summary: string;
  readonly details: string;
}

export const COMMANDS: Readonly<Record<CommandName, Help>> = {
  serve: {
    usage: 'serve PORT -- COMMAND…',
    summary: 'start a server that Porthole starts again; returns once it is ready',
    details: `The server gets this shell's folder and environment, and PORT. It starts again when it fails, and
after the sandbox was stopped. The same line twice starts it once. A preview shows ports 3000 to 9000,
unless the server of Porthole is configured otherwise.

  --name NAME          what to call it; port-PORT without it
  --restart WHEN       always, on-failure (the default) or never
  --http PATH          it is ready once this path answers below 400; else once the port accepts connections
  --log TEXT           it is ready once a line of its output contains this
  --timeout SECONDS    it fails when it is not ready by then; 60 without it
  --replace            remove what has the name first
  --no-wait            return at once

  porthole serve 3000 -- npm run dev
  porthole serve 8000 --name api --http /health -- uvicorn main:app --port 8000`,
  },
  ps: {
    usage: 'ps [-a] [--json]',
    summary: 'list the servers and the running processes',
    details: `  -a, --all            also processes that have exited
  --json               everything that is known, as JSON`,
  },
  logs: {
    usage: 'logs NAME [-f] [-n LINES]',
    summary: 'print what a server or a process has printed',
    details: `NAME is a server, its port, or the id or name of a process. What went to stderr goes to stderr.

  -f, --follow         go on with what comes
  -n, --lines LINES    of a server: begin so many lines before the end; 200 without it`,
  },
  stop: {
    usage: 'stop NAME|PORT [--remove]',
    summary: 'stop a server or a process by its name; end the preview of a port by its number',
    details: `A server that was stopped stays stopped when the sandbox is resumed. A preview's URL stops working for good.

  --remove             of a server: also forget it and its logs`,
  },
  preview: {
    usage: 'preview PORT',
    summary: 'open a live preview of a port and print its URL',
    details:
      'A person may have to approve it, within five minutes. With several runs in one sandbox, PORTHOLE_RUN\nnames the one to act for; without it the newest does.',
  },
  share: {
    usage: 'share PORT',
    summary: 'make a link to a live preview, for someone who may not open its URL',
    details: `A person is asked to approve it, within five minutes. Prints the link once.

  --label TEXT         whom it is for
  --level LEVEL        who may use it: link (the default, anyone who has it), signed_in or org
  --expires TIME       when it ends, such as 30m, 12h or 7d; never without it
  --uses COUNT         how many visitors may use it; any number without it
  --may-wake           its visitors may start the preview while it is stopped

  porthole share 3000 --label 'for carol' --expires 1d`,
  },
  status: {
    usage: 'status',
    summary: 'list the live previews, one line each: port, URL',
    details:
      'With several runs in one sandbox, PORTHOLE_RUN names the one to act for; without it the newest does.',
  },
  doctor: {
    usage: 'doctor PORT',
    summary: 'say whether a preview of a port shows the app, and what to do if not',
    details:
      'Opens a live preview in a browser, where one is installed, and names the fault of a broken page.\nExits with 0 when the page shows.',
  },
  check: {
    usage: 'check PORT',
    summary: 'say whether the page of a preview works, or what is broken, with file and line',
    details: `Opens the page of a live preview in the browser of Porthole, as a person would.
Exits with 0 when it works, 1 when it is broken or cannot be opened, 2 when that is unclear.

  --path PATH          path and query of the page; / without it
  --device KIND        desktop, tablet or phone
  --wait SECONDS       first wait until files of the workspace change, up to 240 seconds
  --json               everything that was seen, as JSON

  porthole check 3000 --path /login`,
  },
  look: {
    usage: 'look PORT',
    summary: 'the same as check, with a picture or an outline of the page',
    details: `Prints an outline of roles and names, or writes a picture. Exits like check.

  --out FILE           write the picture here, instead of the outline
  --full-page          a picture of all of the page
  --path PATH          path and query of the page; / without it
  --device KIND        desktop, tablet or phone
  --json               everything that was seen, as JSON

  porthole look 3000 --out page.png`,
  },
  inbox: {
    usage: 'inbox [TEXT]',
    summary: 'print what people wrote to you; with --reply, answer a message',
    details: `Prints the comments that you have not read, and marks them as read. A comment may be pinned to an
element of a page: its selector, component and source file follow where they are known.

  -a, --all            also what was read before, and replies
  --json               everything that is known, as JSON
  --reply MESSAGE      send TEXT as a reply to this message

  porthole inbox --reply msg_01JABCDEFGHJKMNPQRSTVWXYZ0 'The button is larger now.'`,
  },
};

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

export function generalHelp(): string {
  const lines = Object.values(COMMANDS).map(({ usage, summary }) => `  ${usage.padEnd(26)} ${summary}`);
  return `usage: porthole COMMAND

Runs servers in this sandbox, and shows them to people.

${lines.join('\n')}

porthole COMMAND --help says more.
exits: 0 done, 1 failed or refused, 2 wrong usage, 3 a person denied it, 4 no decision in time,
5 the guest or Porthole cannot be reached
`;
}

export function commandHelp(name: CommandName): string {
  const { usage, summary, details } = COMMANDS[name];
  return `usage: porthole ${usage}\n\n${summary[0]?.toUpperCase()}${summary.slice(1)}.\n\n${details}\n`;
}
