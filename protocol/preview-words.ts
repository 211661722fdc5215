/**
 * The words that start a preview token, so that people can tell URLs apart. They add no secrecy:
 * the 128 bits after them do. Three words, three hyphens, 26 characters and `-preview` fit in one
 * DNS label of 63.
 */
export const PREVIEW_WORDS: readonly string[] = [
  'amber',
  'apple',
  'arrow',
  'aspen',
  'atlas',
  'autumn',
  'basil',
  'birch',
  'breeze',
  'bright',
  'bronze',
  'calm',
  'canyon',
  'cedar',
  'cherry',
  'clever',
  'cliff',
  'clover',
  'cobalt',
  'copper',
  'coral',
  'cosmic',
  'crane',
  'crisp',
  'dawn',
  'delta',
  'dune',
  'eager',
  'ember',
  'falcon',
  'fern',
  'forest',
  'frost',
  'garnet',
  'gentle',
  'golden',
  'harbor',
  'hazel',
  'heron',
  'indigo',
  'ivory',
  'jade',
  'juniper',
  'lark',
  'linen',
  'lotus',
  'lunar',
  'maple',
  'meadow',
  'mellow',
  'misty',
  'noble',
  'ocean',
  'olive',
  'opal',
  'otter',
  'pearl',
  'pine',
  'quartz',
  'river',
  'silver',
  'swift',
  'tidal',
  'willow',
];

const LENGTHS = PREVIEW_WORDS.map(({ length }) => length);

/** 128 bits at 5 bits a character. */
export const TOKEN_SUFFIX_LENGTH = 26;

/**
 * Pattern of every minted token, for JavaScript and RE2: three words and the base32 suffix. The log
 * redactor, the admission policy and the tests use this definition.
 */
export const PREVIEW_TOKEN_PATTERN = `(?:[a-z]{${Math.min(...LENGTHS)},${Math.max(...LENGTHS)}}-){3}[a-z2-7]{${TOKEN_SUFFIX_LENGTH}}`;
