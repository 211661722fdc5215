/** Who owns a thing: a user within an org. */
export interface Owner {
  readonly user: string;
  readonly org: string;
}
