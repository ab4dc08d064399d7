/** A search in words, as the last searches show it. */
import { dateTaken, size, t } from "../../lib/i18n.svelte";
import type { LastSearch } from "../../lib/lastSearches";
import { beginOf } from "../../lib/localTime";
import { session } from "../../lib/session.svelte";

/** A day of an address in words, or as it is if it is no day. */
const day = (text: string) => (beginOf(text, 0, "Z") === undefined ? text : dateTaken(Date.parse(text)));

function filtersOf(query: URLSearchParams): string[] {
  const [kind, from, to, least, most, owner] = ["kind", "from", "to", "minSize", "maxSize", "ownerId"].map((name) =>
    query.get(name),
  );
  const words: (string | undefined)[] = [
    kind ? t.searching.kinds[kind as keyof typeof t.searching.kinds] : "",
    from ? t.searching.fromDay(day(from)) : "",
    to ? t.searching.toDay(day(to)) : "",
    least ? t.searching.atLeast(size(Number(least))) : "",
    most ? t.searching.atMost(size(Number(most))) : "",
    owner ? (owner === session.me?.profile.id ? t.searching.mine : t.searching.owner) : "",
  ];
  return words.filter((text) => !!text) as string[];
}

/** The text of a search, or else its filters; and the filters and the folder. */
export function describe({ path, query }: LastSearch): { label: string; meta: string } {
  const parts = new URLSearchParams(query);
  const text = parts.get("search");
  const filters = filtersOf(parts).join(" · ");
  const where = parts.get("in") === "all" ? t.searching.everywhere : path;
  return text ? { label: text, meta: [filters, where].filter(Boolean).join(" · ") } : { label: filters, meta: where };
}
