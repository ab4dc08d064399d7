/**
 * Sets of indices as sorted, disjoint, half-open ranges: a selection of a million entries costs no
 * more than one entry.
 */
export type Range = readonly [from: number, to: number];
export type Ranges = readonly Range[];

export function has(set: Ranges, index: number): boolean {
  let low = 0;
  let high = set.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (set[middle]![1] <= index) low = middle + 1;
    else high = middle;
  }
  return low < set.length && set[low]![0] <= index;
}

export function count(set: Ranges): number {
  return set.reduce((sum, [from, to]) => sum + to - from, 0);
}

export function add(set: Ranges, from: number, to: number): Ranges {
  if (from >= to) return set;
  const before = set.filter((range) => range[1] < from);
  const after = set.filter((range) => range[0] > to);
  const touched = set.slice(before.length, set.length - after.length);
  const first = Math.min(from, touched[0]?.[0] ?? from);
  const last = Math.max(to, touched.at(-1)?.[1] ?? to);
  return [...before, [first, last], ...after];
}

export function remove(set: Ranges, from: number, to: number): Ranges {
  if (from >= to) return set;
  return set.flatMap((range): Range[] => {
    const left: Range = [range[0], Math.min(range[1], from)];
    const right: Range = [Math.max(range[0], to), range[1]];
    return [left, right].filter(([a, b]) => a < b);
  });
}

/** The set of single indices, in any order. */
export function of(indices: Iterable<number>): Ranges {
  const set: [number, number][] = [];
  for (const index of [...indices].sort((a, b) => a - b)) {
    const last = set.at(-1);
    if (last && index <= last[1]) last[1] = Math.max(last[1], index + 1);
    else set.push([index, index + 1]);
  }
  return set;
}

/** Every index, in order. */
export function* each(set: Ranges): Generator<number> {
  for (const [from, to] of set) for (let index = from; index < to; index++) yield index;
}
