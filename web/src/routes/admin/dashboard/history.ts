/** The use of the storages in time, as the series of a chart. */
import type { Schemas } from "../../../lib/api";
import type { Series } from "../../../lib/ui/chart";

type Day = Schemas["ApiStorageDayReply"];

/** The number of series that a chart tells apart. */
const most = 3;

/** The start of a day (ms, UTC) in the time zone of the reader, so that it is shown as that day. */
export function localDay(ms: number): number {
  const day = new Date(ms);
  return new Date(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()).getTime();
}

/**
 * A series of bytes for each storage, the fullest first; null on days without figures. The smallest
 * of many storages, and those that were deleted, are summed as `others`.
 */
export function storageSeries(
  days: readonly Day[],
  stores: readonly Schemas["ApiStorageReply"][],
  others: string,
): Series[] {
  const known = new Set(stores.map(({ providerId }) => providerId));
  const hasDeleted = days.some(({ storage }) => storage.some(({ providerId }) => !known.has(providerId)));
  const sorted = stores.toSorted((a, b) => b.usedSpace - a.usedSpace);
  const named = sorted.length + (hasDeleted ? 1 : 0) > most ? sorted.slice(0, most - 1) : sorted;
  const series: Series[] = named.map(({ providerId, name }) => ({
    label: name,
    values: days.map(({ storage }) => storage.find((one) => one.providerId === providerId)?.usedSpace ?? null),
  }));
  if (named.length === sorted.length && !hasDeleted) return series;
  const apart = new Set(named.map(({ providerId }) => providerId));
  const values = days.map(({ storage }) => {
    const rest = storage.filter(({ providerId }) => !apart.has(providerId));
    return rest.length > 0 ? rest.reduce((sum, { usedSpace }) => sum + usedSpace, 0) : null;
  });
  return [...series, { label: others, values }];
}
