import { type CommandSpec, type Context, optionsOf, UsageError } from '../command.ts';
import { plain } from '../print.ts';
import { holdSandbox } from '../hold-sandbox.ts';

/** The words that may follow, each with its description. */
export type Words = readonly (readonly [word: string, meaning: string])[];

/** What may come next: known words, or what a placeholder of the usage names, e.g. `sandbox`. */
export type Expected = { readonly words: Words } | { readonly names: readonly string[] };

/** Limit for names of the server, in milliseconds: a person waits at the prompt. */
const LOOKUP_MS = 3_000;
const MAX_NAMES = 100;

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_porthole() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("\${line%%$'\\t'*}"); done < <(
    porthole completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
  )
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace
}
complete -o bashdefault -o default -F _porthole porthole
`,
  zsh: `#compdef porthole
_porthole() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(porthole completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe porthole found; else _files; fi
}
if (( $+functions[compdef] )); then
  compdef _porthole porthole
fi
if [[ \${funcstack[1]} == _porthole ]]; then _porthole "$@"; fi
`,
  fish: `function __porthole_words
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l found (porthole completion words -- $before[2..-1] "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c porthole -f -a '(__porthole_words)'
`,
};

/** @param all the commands, itself included */
export function completionCommand(all: () => readonly CommandSpec[]): CommandSpec {
  return {
    name: 'completion',
    usage: '<bash|zsh|fish>',
    summary: 'print the script with which a shell completes commands, options, names and ids',
    details:
      'The script calls porthole completion words, which asks the server for names and ids when you press Tab.',
    json: 'print {"script"}',
    examples: [
      ['source <(porthole completion bash)', 'in ~/.bashrc'],
      ['source <(porthole completion zsh)', 'in ~/.zshrc, after compinit'],
      ['porthole completion fish | source', 'in ~/.config/fish/config.fish'],
    ],
    takesRest: true,
    async run(context) {
      const { given, streams, show } = context;
      const [what = ''] = given.positionals;
      if (what === 'words') {
        const { words, rest } = currentWord(given.rest ?? []);
        const found = await wordsFor(context, expectedAfter(words, all()), words);
        const fitting = found.filter(([word]) => word.startsWith(words.at(-1) ?? ''));
        const lines = fitting.map(([word, meaning]) => `${rest}${plain(word)}\t${plain(meaning)}`);
        return show(
          fitting.map(([word]) => word),
          ...lines,
        );
      }
      const script = SCRIPTS[what];
      if (script === undefined)
        throw new UsageError(`there is a script for bash, zsh and fish, got ${JSON.stringify(what)}.`);
      if (given.is('json')) return show({ script });
      streams.stdout.write(script);
      return 0;
    },
  };
}

/**
 * The last word without its option: shells give `--network=pa` as one word (zsh, fish), or as
 * three (bash).
 */
function currentWord(typed: readonly string[]): { readonly words: readonly string[]; readonly rest: string } {
  const [option, equals, value] = typed.slice(-3);
  if (equals === '=' && option?.startsWith('--') === true)
    return { words: [...typed.slice(0, -2), value ?? ''], rest: '' };
  if (typed.at(-1) === '=' && typed.at(-2)?.startsWith('--') === true)
    return { words: [...typed.slice(0, -1), ''], rest: '' };
  const [, name, begun] = /^(--[\w-]+)=(.*)$/s.exec(typed.at(-1) ?? '') ?? [];
  if (name === undefined || begun === undefined) return { words: typed, rest: '' };
  return { words: [...typed.slice(0, -1), name, begun], rest: `${name}=` };
}

/** What may take the place of the last word, which the user types. */
export function expectedAfter(words: readonly string[], all: readonly CommandSpec[]): Expected {
  const [name = '', ...others] = words;
  const current = others.pop();
  if (current === undefined)
    return {
      words: [...all.map((each) => [each.name, each.summary] as const), ['help', 'explain a command']],
    };
  if (name === 'help') return { words: all.map((each) => [each.name, each.summary] as const) };
  const command = all.find((each) => each.name === name);
  if (command === undefined || others.includes('--')) return { words: [] };
  const options = Object.entries(optionsOf(command));
  const optionOf = (word: string | undefined) =>
    options.find(
      ([long, { short }]) => word === `--${long}` || (short !== undefined && word === `-${short}`),
    )?.[1];
  const option = optionOf(others.at(-1));
  if (option?.type === 'string') {
    if (option.choices !== undefined) return { words: option.choices.map((each) => [each, ''] as const) };
    return { names: [option.value?.toLowerCase() ?? ''] };
  }
  if (current.startsWith('-')) {
    const unused = options.filter(
      ([long, { multiple }]) => multiple === true || !others.includes(`--${long}`),
    );
    return {
      words: [...unused.map(([long, { help }]) => [`--${long}`, help] as const), ['--help', 'explain']],
    };
  }
  const places = [...command.usage.matchAll(/[<[]([^<[>\]]+)[>\]](…?)/g)]
    .map(([, names = '', more]) => ({ names: names.split('|'), isMany: more === '…' }))
    .filter(({ names: [first = ''] }) => !first.startsWith('-') && !first.startsWith(':'));
  const before = others.filter(
    (word, at) => !word.startsWith('-') && optionOf(others[at - 1])?.type !== 'string',
  );
  const place = places[before.length] ?? places.findLast(({ isMany }) => isMany);
  if (place === undefined) return { words: [] };
  // `<sandbox|run>` names kinds of things; other alternatives are the words themselves.
  return place.names.length > 1 && !place.names.some((each) => ['sandbox', 'server'].includes(each))
    ? { words: place.names.map((each) => [each, ''] as const) }
    : { names: place.names };
}

async function wordsFor(context: Context, expected: Expected, words: readonly string[]): Promise<Words> {
  if ('words' in expected) return expected.words;
  const { porthole } = context;
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(LOOKUP_MS)]);
  const subject = words.slice(1, -1).find((word) => !word.startsWith('-')) ?? '';
  const named = { ...context, signal, given: { ...context.given, positionals: [subject] } };
  const found: (readonly [string, string])[] = [];
  for (const name of expected.names) {
    if (name === 'sandbox' || name === 'from' || name === 'to') {
      for await (const { info } of porthole.sandboxes.list({ signal })) {
        if (info === undefined) continue;
        const word = info.name ?? info.id;
        found.push([name === 'sandbox' ? word : `${word}:`, info.state]);
        if (found.length >= MAX_NAMES) break;
      }
    } else if (name === 'run') {
      for await (const { id, info } of porthole.runs.list({ status: 'running', signal })) {
        found.push([id, info.title ?? '']);
        if (found.length >= MAX_NAMES) break;
      }
    } else if (name === 'server') {
      const servers = await (await holdSandbox(named)).servers.list({ signal });
      found.push(...servers.map((each) => [each.name, each.state] as const));
    } else if (name === 'process') {
      const processes = await (await holdSandbox(named)).processes.list({ signal });
      const own = processes.filter(({ info }) => info.started_by.kind !== 'server');
      found.push(...own.slice(0, MAX_NAMES).map(({ id, info }) => [id, info.argv.join(' ')] as const));
    } else if (name === 'port') {
      const ports = await (await holdSandbox(named)).ports.list({ signal });
      found.push(...ports.map((each) => [String(each.port), each.program ?? ''] as const));
    } else if (name === 'request') {
      const waiting = await (await porthole.runs.get(subject, { signal })).approvals({ signal });
      found.push(...waiting.map((each) => [each.request_id, each.message] as const));
    }
  }
  return found;
}
