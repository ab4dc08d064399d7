/** The options of the command list that fit a text best. */

/**
 * The words by which an option is found: those of the option, and those of its group, which count
 * less.
 */
export type Words = [label: string, more: string];

/** How well a text fits, 0 for best; undefined if a word of it is in neither the label nor more. */
function rank([label, more]: Words, text: string): number | undefined {
  const wanted = text.split(/\s+/).filter(Boolean);
  const own = label.toLocaleLowerCase();
  const all = `${own} ${more.toLocaleLowerCase()}`;
  if (!wanted.every((word) => all.includes(word))) return undefined;
  if (own.startsWith(text)) return 0;
  if (own.split(/\s+/).some((word) => word.startsWith(wanted[0]!))) return 1;
  return wanted.every((word) => own.includes(word)) ? 2 : 3;
}

/** At most so many options that a text fits, the best first, otherwise in their order. */
export function best<Option>(
  options: readonly Option[],
  text: string,
  words: (option: Option) => Words,
  most: number,
): Option[] {
  const wanted = text.trim().toLocaleLowerCase();
  return options
    .flatMap((option) => {
      const fit = rank(words(option), wanted);
      return fit === undefined ? [] : [{ option, fit }];
    })
    .sort((a, b) => a.fit - b.fit)
    .slice(0, most)
    .map(({ option }) => option);
}
