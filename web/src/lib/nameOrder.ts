/**
 * The order of names in listings, as the server sorts them (SortKey in internal/vpath/sortkey.go),
 * and the search for a name in a folder of which only some pages are loaded.
 */

/** A name in NFC with its case folded. */
export function fold(name: string): string {
  const folded = Array.from(
    name,
    (sign) => (sign === "ı" ? sign : sign.toLowerCase().toUpperCase().toLowerCase()), // the dotless i is folded to itself
  );
  return folded.join("").normalize("NFC");
}

/**
 * The key by which a name is sorted: the folded name, in which each run of decimal digits, of any
 * script, is replaced by its number of digits and the digits, both without leading zeros. A key is
 * not cut as that of the server, which matters for names of hundreds of bytes only.
 */
export function sortKey(name: string): string {
  return fold(name).replace(/\p{Nd}+/gu, (run) => {
    const digits = Array.from(run, value).join("").replace(/^0+/, "");
    return "9".repeat(digits.length / 9) + (digits.length % 9) + digits;
  });
}

/** The value of a decimal digit. Unicode has them in rows of ten from 0 to 9. */
function value(digit: string): number {
  let before = digit.codePointAt(0)! - 1;
  const end = before;
  while (/\p{Nd}/u.test(String.fromCodePoint(before))) before--;
  return (end - before) % 10;
}

/** Compares keys by their code points, which is the order of their bytes in UTF-8. */
export function compare(a: string, b: string): number {
  for (let n = 0; ; n++) {
    const [x, y] = [a.codePointAt(n) ?? -1, b.codePointAt(n) ?? -1];
    if (x !== y || x < 0) return x - y;
  }
}

/** A list that is sorted by name, of which pages are loaded one by one. */
interface Sorted {
  length: number;
  size: number; // of a page
  descending: boolean;
  page: (page: number) => Promise<readonly { name: string }[]>;
}

const mostDigits = 20; // of a number whose first digits were typed

/**
 * The index of the first name in a sorted list that begins with a text, ignoring case; -1 without
 * one. Names that begin with `img 1` are in several places: img 1, img 10 to 19, img 100 to 199.
 * Rejects if a page cannot be loaded.
 */
export async function findName({ length, size, descending, page }: Sorted, text: string): Promise<number> {
  const wanted = fold(text);
  const counts = Array.from({ length: /\p{Nd}$/u.test(wanted) ? mostDigits : 1 }, (_, count) => count);
  for (const count of descending ? counts.reverse() : counts) {
    const key = descending ? `${sortKey(wanted + "9".repeat(count))}\u{10ffff}` : sortKey(wanted + "0".repeat(count));
    const before = ({ name }: { name: string }) => compare(sortKey(name), key) * (descending ? -1 : 1) < 0;
    let low = 0;
    let high = Math.ceil(length / size) - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const last = (await page(middle)).at(-1);
      if (last && before(last)) low = middle + 1;
      else high = middle;
    }
    const names = await page(low);
    const nth = names.findIndex((one) => !before(one) && fold(one.name).startsWith(wanted));
    if (nth >= 0) return low * size + nth;
  }
  return -1;
}
