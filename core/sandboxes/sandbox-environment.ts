/** A variable name that every shell accepts. */
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Variables that Porthole sets, or that its programs in a sandbox depend on. */
const OWN = new Set(['PATH', 'HOME', 'USER', 'WORKSPACE', 'SANDBOX_ID']);
const OWN_PREFIX = /^_?PORTHOLE_/i;
/** The one of Porthole's variables that an owner sets. */
const LOCALHOST = 'PORTHOLE_LOCALHOST';
const MAX_VARIABLES = 64;
/**
 * Names and values together, with what Linux adds to each; it takes no more than 128 KiB for one.
 */
const MAX_BYTES = 65_536;

/**
 * The problem with the variables of a sandbox, for the caller; undefined if they are valid. It
 * contains names, never values.
 */
export function environmentProblem(env: Readonly<Record<string, string>>): string | undefined {
  const entries = Object.entries(env);
  if (entries.length > MAX_VARIABLES)
    return `has ${entries.length} variables; the maximum is ${MAX_VARIABLES}`;
  let bytes = 0;
  for (const [name, value] of entries) {
    const shown = JSON.stringify(name.slice(0, 60));
    if (!NAME.test(name)) return `${shown} is not a variable name: use letters, digits and _`;
    if (name === LOCALHOST && value !== 'map') return `${shown} must be "map"`;
    if (OWN.has(name) || (OWN_PREFIX.test(name) && name !== LOCALHOST))
      return `${shown} is set by Porthole: choose another name`;
    if (value.includes('\0')) return `the value of ${shown} must not contain a NUL character`;
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 2;
  }
  return bytes > MAX_BYTES ? `is ${bytes} bytes long; the maximum is ${MAX_BYTES}` : undefined;
}

/** Whether pages in previews of the sandbox reach `http://localhost:{port}` as on one machine. */
export function mapsLocalhost(env: Readonly<Record<string, string>>): boolean {
  return env[LOCALHOST] === 'map';
}
