/** The name of a skill, and of its folder (Agent Skills specification). */
export const SKILL_NAME = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

export const SKILL_NAME_RULE =
  'must be 1 to 64 lower-case letters, digits or "-", which neither begins, ends nor stands twice';
