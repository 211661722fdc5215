/** Which sessions of browsers somebody has ended before their time. What a browser keeps is sealed, and would be good until then all the same. */
export interface EndedSessionRecords {
  /** Ends it at once, for every instance: each `has` that begins afterwards is true. A second time changes nothing. @param until when it would have been over by itself */
  add(id: string, until: Date): Promise<void>;
  has(id: string): Promise<boolean>;
  /** Forgets those that would have been over before; says how many. */
  forget(before: Date): Promise<number>;
}
