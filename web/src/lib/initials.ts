const wide = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}/u;

/**
 * The letters that stand for a person without a picture: the first ones of the first and the last
 * word of a name, or one Chinese, Japanese or Korean character.
 */
export function initials(name: string): string {
  const words = name.split(/[\s._-]+/).filter(Boolean);
  const letter = (word = "") => [...word][0] ?? "";
  const first = letter(words[0]);
  return (words.length < 2 || wide.test(first) ? first : first + letter(words.at(-1))).toUpperCase();
}
