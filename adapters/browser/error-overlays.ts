import type { ErrorOverlay } from '#core/pages/page-browser.ts';
import { evaluateIsolated, type PageFrame } from './isolated-world.ts';
import { fileOf } from './source-maps.ts';

/** An error overlay as the page shows it. */
export interface ShownOverlay {
  readonly framework: string;
  readonly message: string;
  /** Text with the place of the error, in the framework's own form. */
  readonly file: string;
}

/** Of the page that explains an error of a dev server, in characters. */
const MAX_ERROR_CHARS = 200_000;
const ASSIGNMENT = 'const error = ';

/**
 * The error that Vite answers instead of a script: its overlay shows the same, but only to the
 * pages that are connected at that moment. Undefined if the answer is not in Vite's form.
 */
export async function viteError(frame: PageFrame, url: string): Promise<ShownOverlay | undefined> {
  // Chromium reads no body of a module that is answered with 500: only `fetch` does.
  const body = await evaluateIsolated(
    frame,
    `fetch(${JSON.stringify(url)}).then(async (answer) => (await answer.text()).slice(0, ${MAX_ERROR_CHARS}))`,
  );
  try {
    const { message, id, loc } = JSON.parse(jsonOf(String(body))) as {
      message?: unknown;
      id?: unknown;
      loc?: { file?: unknown; line?: unknown; column?: unknown };
    };
    if (typeof message !== 'string') return undefined;
    const at = [loc?.file ?? id, loc?.line, loc?.column];
    const file = at.filter((part) => typeof part === 'string' || typeof part === 'number').join(':');
    return { framework: 'Vite', message: message.slice(0, 1_000), file: file.slice(0, 600) };
  } catch {
    return undefined;
  }
}

/** What Vite's answer assigns to `error`, to the end of the line. */
function jsonOf(body: string): string {
  const start = body.indexOf(ASSIGNMENT);
  if (start === -1) return '';
  return body.slice(start + ASSIGNMENT.length).split('\n', 1)[0] ?? '';
}

/** `path:line:column`, or `path (line:column)`. */
const POSITION =
  /(?<![\w./@[\]()+$-])[.@[\]()+$-]*?((?:\/|\.\/|\w)[\w./@[\]()+$-]*\.\w{1,8})(?::| ?\()(\d+)(?:[:,](\d+))?/;

/** The overlay with the place of its error. The message is complete. */
export function readOverlay({ framework, message, file: text }: ShownOverlay, origin: string): ErrorOverlay {
  const file = text.replaceAll(`${origin}/`, './');
  // Python's format (the last frame outside packages), else `path:line:column`.
  const frames = [...file.matchAll(/File "([^"\n]+)", line (\d+)/g)];
  const own = frames.findLast(([, name = '']) => !/site-packages|lib\/python/.test(name)) ?? frames.at(-1);
  const named = POSITION.exec(file);
  // Some overlays show the name of the file, and its path in the message.
  const found = own ?? (named?.[1]?.includes('/') === false ? (POSITION.exec(message) ?? named) : named);
  const [, name, line, column] = found ?? [];
  const only =
    found === null || found === undefined
      ? /^(?:\/|\.\/)?[\w./@[\]()+$-]+\.\w{1,8}$/.exec(file)?.[0]
      : undefined;
  const path = name ?? only;
  return {
    framework,
    message,
    place:
      path === undefined
        ? null
        : {
            file: fileOf(path, origin),
            line: line === undefined ? null : Number(line),
            column: column === undefined ? null : Number(column),
          },
  };
}
