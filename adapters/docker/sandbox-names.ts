import { createHash } from 'node:crypto';
import { type StoredSpec, storedSpecText, readStoredSpec } from '#adapters/sandboxes/stored-spec.ts';
import { isSandboxId } from '#adapters/sandboxes/sandbox-errors.ts';
import { ANNOTATIONS, DOMAIN, SANDBOX_LABELS } from '#constructs/names.ts';

/** Label of a sandbox's volume: the image of its container, also after a restart. */
const IMAGE = `${DOMAIN}/image`;

/** Label of a sandbox's volume: the rest of its spec. */
const SPEC = `${DOMAIN}/spec`;

/** Label of container and volume: the installation that owns the sandbox. */
const INSTALLATION = `${DOMAIN}/installation`;

export type Labels = Readonly<Record<string, string>>;

/**
 * Names and labels of one installation's sandboxes. Several installations may share an engine, and
 * each sees only its own.
 */
export class SandboxNames {
  readonly #installation: string;

  /**
   * @param installation distinguishes this installation from others; the engine only sees its hash
   */
  constructor(installation: string) {
    this.#installation = hash(installation).slice(0, 16);
  }

  /**
   * Name of the sandbox's container and volume, within the 64 characters that every engine accepts:
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
      [ANNOTATIONS.sandboxId]: id,
      [IMAGE]: image,
      ...(kept !== undefined && { [SPEC]: kept }),
    };
  }

  filters(): { label: string[] } {
    const wanted = { ...SANDBOX_LABELS, [INSTALLATION]: this.#installation };
    return { label: Object.entries(wanted).map(([name, value]) => `${name}=${value}`) };
  }

  /** The sandbox id of an object with this name; undefined if it is not ours. */
  idOf(name: string, labels: Labels | null | undefined): string | undefined {
    const id = labels?.[ANNOTATIONS.sandboxId];
    if (id === undefined || !isSandboxId(id) || this.objectName(id) !== name) return undefined;
    return labels?.[INSTALLATION] === this.#installation ? id : undefined;
  }
}

export function imageOf(labels: Labels): string | undefined {
  return labels[IMAGE];
}

export function specOf(labels: Labels | null | undefined): StoredSpec {
  return readStoredSpec(labels?.[SPEC]);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
