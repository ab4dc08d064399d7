/** The filters of the access log, as the address has them. */
import { client, take, type Schemas } from "../../../lib/api";
import type { paths } from "../../../lib/schema";

export type LogEntry = Schemas["ApiLogEntryReply"];
type Query = NonNullable<paths["/api/admin/logs"]["get"]["parameters"]["query"]>;
export type Action = NonNullable<Query["action"]>;

export const actions: readonly Action[] = [
  "login",
  "login_failed",
  "register",
  "upload",
  "download",
  "preview",
  "delete",
  "restore",
  "purge",
  "rewind",
  "move",
  "rename",
  "folder",
  "share",
  "share_download",
  "key",
  "admin",
  "webdav",
  "free_mode",
];

const hour = 3_600_000; // ms
/** The lengths of the usual times (ms), until now. */
export const ranges = { hour, day: 24 * hour, week: 168 * hour, month: 720 * hour };
export type Range = keyof typeof ranges;
export const rangeNames = Object.keys(ranges) as Range[];

const ms = (text: string | null) => (text && /^\d{1,15}$/.test(text) ? Number(text) : undefined);

/** The start and end of the exact time in the address (ms); undefined where there is none. */
export function exactTime(query: URLSearchParams): { from: number | undefined; to: number | undefined } {
  return { from: ms(query.get("from")), to: ms(query.get("to")) };
}

/** The filters of the address, as the server takes them. */
export function filtersOf(query: URLSearchParams, now = Date.now()): Query {
  const action = actions.find((one) => one === query.get("action"));
  const range = rangeNames.find((one) => one === query.get("range"));
  const { from, to } = exactTime(query);
  const user = query.get("user");
  const search = query.get("search");
  return {
    ...(query.get("failed") === "true" && { failed: true }),
    ...(action && { action }),
    ...(user && { userId: user }),
    ...(search && { search }),
    ...(range ? { from: now - ranges[range] } : from !== undefined && { from }),
    ...(!range && to !== undefined && { to }),
  };
}

/** The number of entries that a file has at most. */
export const most = 10_000;
const perRequest = 200;

/** Loads the newest entries, at most `most` of them. Throws Failure. */
export async function entries(filters: Query): Promise<LogEntry[]> {
  // entries that come meanwhile must not move the pages
  const query = { to: Date.now(), ...filters, limit: perRequest };
  const all: LogEntry[] = [];
  for (let page = 1; all.length < most; page++) {
    const { logs } = await take(client.GET("/api/admin/logs", { params: { query: { ...query, page } } }));
    all.push(...logs);
    if (logs.length < perRequest) break;
  }
  return all;
}
