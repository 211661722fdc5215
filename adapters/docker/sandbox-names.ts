import { createHash } from 'node:crypto';
import { type StoredSpec, storedSpecText, readStoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { isSandboxId } from '#adapters/sandboxes/sandbox-errors.ts';
import { ANNOTATIONS, DOMAIN, SANDBOX_LABELS } from '#constructs/names.ts';

/** On a sandbox's volume: what its container is made of, also when it starts again. */
const IMAGE = `${DOMAIN}/image`;

/** On a sandbox's volume: what else it was made from. */
const SPEC = `${DOMAIN}/spec`;

/** On container and volume: whose sandbox it is, of all the installations that share an engine. */
const INSTALLATION = `${DOMAIN}/installation`;

/** What the engine keeps of an object that we have made. */
export type Labels = Readonly<Record<string, string>>;

/**
 * Names and labels of the sandboxes of one installation. Several may share an engine, and each
 * knows its own alone.
 */
export class SandboxNames {
  readonly #installation: string;

  /**
   * @param installation what tells this installation from others; only its hash is shown to the
   * engine
   */
  constructor(installation: string) {
    this.#installation = hash(installation).slice(0, 16);
  }

  /**
   * Of the sandbox's container and of its volume, within the 64 characters that every engine takes:
   * an id may have twice as many.
   */
  objectName(id: string): string {
    return `porthole-${hash(`${this.#installation} ${id}`).slice(0, 40)}`;
  }

  labels(id: string, image: string, spec: StoredSpec = {}): Record<string, string> {
    const kept = storedSpecText(spec);
    return {
      ...SANDBOX_LABELS,
      [INSTALLATION]: this.#installation,
      [ANNOTATIONS.sandbox]: id,
      [IMAGE]: image,
      ...(kept !== undefined && { [SPEC]: kept }),
    };
  }

  /** What an engine is asked to list by. */
  filters(): { label: string[] } {
    const wanted = { ...SANDBOX_LABELS, [INSTALLATION]: this.#installation };
    return { label: Object.entries(wanted).map(([name, value]) => `${name}=${value}`) };
  }

  /**
   * The id of the sandbox that an object of this name belongs to; undefined where it is not ours.
   */
  idOf(name: string, labels: Labels | null | undefined): string | undefined {
    const id = labels?.[ANNOTATIONS.sandbox];
    if (id === undefined || !isSandboxId(id) || this.objectName(id) !== name) return undefined;
    return labels?.[INSTALLATION] === this.#installation ? id : undefined;
  }
}

/** The image that the sandbox was made with. */
export function imageOf(labels: Labels): string | undefined {
  return labels[IMAGE];
}

/** What else it was made from. */
export function specOf(labels: Labels | null | undefined): StoredSpec {
  return readStoredSpec(labels?.[SPEC]);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
