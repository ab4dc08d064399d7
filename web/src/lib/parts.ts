/** Requests for many entries are sent in batches. */
const batch = 100;

/** Splits a list into parts of at most `most` items. */
export function parts<Item>(list: readonly Item[], most = batch): Item[][] {
  const out: Item[][] = [];
  for (let at = 0; at < list.length; at += most) out.push(list.slice(at, at + most));
  return out;
}
