import { COMMANDS } from '../../client/cli/commands.ts';
import { helpOf, overview } from '../../client/cli/run-command.ts';
import { COMMANDS as INSIDE, commandHelp, generalHelp, isCommand } from '../../guest/command/help.ts';
import { pageOf, textBlock } from './markdown.ts';

/** The help of every command, on your machine and in sandboxes. */
export function commandPage(): string {
  return pageOf(
    '# The command line',
    '`porthole` on your machine is part of [the client](../../client/README.md). Every sandbox has a smaller command of the same name ([below](#in-a-sandbox)).',
    textBlock(overview(COMMANDS)),
    ...COMMANDS.flatMap((command) => [`## porthole ${command.name}`, textBlock(helpOf(command))]),
    '## In a sandbox',
    textBlock(generalHelp()),
    ...Object.keys(INSIDE)
      .filter(isCommand)
      .flatMap((name) => [`### ${name}`, textBlock(commandHelp(name))]),
  );
}
