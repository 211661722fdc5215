/** `function`, or `module:function`. */
export const ENTRYPOINT = /^(?:[A-Za-z_]\w{0,63}:)?[A-Za-z_$][\w$]{0,127}$/;

/** Where a tool begins: in which module its code is put, and the function of it that is called. */
export interface Entrypoint {
  readonly module: string;
  readonly name: string;
}

/** @param entrypoint of that form */
export function readEntrypoint(entrypoint: string): Entrypoint {
  const [first = '', second] = entrypoint.split(':');
  return second === undefined ? { module: 'tool', name: first } : { module: first, name: second };
}
