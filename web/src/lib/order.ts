/** The manual order: each entry has a number, with gaps between the numbers for other entries. */

export const gap = 1024;

/**
 * The new positions when one entry is moved: only that of the moved entry if there is a gap between
 * its new neighbours. `positions` are those of all entries in their order, null for entries without
 * one, which come last. `from` and `to` are indices; `to` is counted without the moved entry.
 */
export function reposition(positions: readonly (number | null)[], from: number, to: number): Map<number, number> {
  const others = positions.map((position, index) => ({ index, position }));
  const [moved] = others.splice(from, 1);
  const changed = new Map<number, number>();
  if (!moved || from === to) return changed;
  const row = [...others.slice(0, to), moved, ...others.slice(to)];
  const before = to > 0 ? row[to - 1]!.position : undefined;
  const after = row[to + 1]?.position;

  if (before !== null) {
    // `after` null or undefined: no entry with a number follows.
    const next = after ?? null;
    const position =
      before === undefined
        ? (next ?? gap) - (next === null ? 0 : gap)
        : next === null
          ? before + gap
          : between(before, next);
    if (position !== undefined) return changed.set(moved.index, position);
  }
  // The previous entry has no number, or there is no gap: number the entries up to the moved one
  // again, and those after it as far as their numbers collide.
  let last: number | null = null;
  for (const [nth, { index, position }] of row.entries()) {
    const own = nth === to ? null : position;
    const fits: boolean = own !== null && (last === null || own > last);
    if (nth > to && (own === null || fits)) break;
    const wanted: number = fits ? own! : (last ?? 0) + gap;
    if (wanted !== position) changed.set(index, wanted);
    last = wanted;
  }
  return changed;
}

function between(a: number, b: number): number | undefined {
  const middle = Math.floor((a + b) / 2);
  return middle > a && middle < b ? middle : undefined;
}
