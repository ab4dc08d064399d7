/** Evacuations: moves of everything in a storage, or in a mount, to another storage. */
import { client, take, type Schemas } from "../../../lib/api";
import { t } from "../../../lib/i18n.svelte";
import type { Mount } from "../mounts/overlaps";
import type { Provider } from "../storage/provider";

export type Evacuation = Schemas["ApiEvacuationReply"];

/** The newest evacuations, newest first. Throws Failure. */
export async function loadEvacuations(): Promise<readonly Evacuation[]> {
  return (await take(client.GET("/api/admin/evacuations"))).evacuations;
}

export function isOpen({ status }: Evacuation): boolean {
  return status === "pending" || status === "running";
}

export type State = keyof typeof t.admin.evacuation.states;

export function stateOf(one: Evacuation): State {
  if (one.status === "completed" || one.status === "failed") return one.status;
  if (one.paused) return "paused";
  if (one.mounted) return "removing";
  return one.status === "pending" && one.totalObjects === null ? "waiting" : "running";
}

/** How long an evacuation is shown after its end, in ms. */
const shownFor = 7 * 24 * 3600 * 1000;

/**
 * The evacuations to show: those that have not ended, and for a week the last one of each storage
 * and mount, unless the storage has been deleted. That of the job `wanted` is always shown.
 */
export function shownOf(all: readonly Evacuation[], now: number, wanted: string | null): Evacuation[] {
  const origins = new Set<string>();
  return all.filter((one) => {
    const origin = one.mountId ?? one.providerId;
    const last = !origins.has(origin);
    origins.add(origin);
    if (isOpen(one) || one.jobId === wanted) return true;
    return last && one.providerName !== "" && (one.completedAt ?? 0) > now - shownFor;
  });
}

/** The evacuation that empties a storage, or moves a mount, undefined for none. */
export const ofProvider = (all: readonly Evacuation[], { id }: Provider) =>
  all.find((one) => isOpen(one) && one.mountId === null && one.providerId === id);
export const ofMount = (all: readonly Evacuation[], { id, providerId }: Mount) =>
  all.find((one) => isOpen(one) && (one.mountId === null ? one.providerId === providerId : one.mountId === id));
/** The evacuations whose objects a storage gets. */
export const intoProvider = (all: readonly Evacuation[], { id }: Provider) =>
  all.filter((one) => isOpen(one) && one.targetProviderId === id);

/** The name of a storage that may have been deleted. */
export const nameOr = (name: string) => name || t.admin.evacuation.deleted;

export function titleOf(one: Evacuation): string {
  const [from, to] = [nameOr(one.providerName), nameOr(one.targetProviderName)];
  return one.mountPath === ""
    ? t.admin.evacuation.ofProvider(from, to)
    : t.admin.evacuation.ofMount(one.mountPath, from, to);
}

/**
 * The sentence about why an evacuation has failed; undefined for a reason that this page does not
 * know.
 */
export function reasonOf({ reason, objectKey }: Evacuation): string | undefined {
  const sentence = reason && t.admin.evacuation.reasons[reason];
  return sentence ? sentence(objectKey) : undefined;
}

/** The time over which the speed is measured, in ms: large objects are counted whole. */
const window = 60_000;

/** Measures the speed of an evacuation by its moved bytes. */
export class Pace {
  private marks: { at: number; bytes: number }[] = [];

  /** Records the moved bytes at a time (ms). */
  record(bytes: number, at: number): void {
    this.marks.push({ at, bytes });
    while (this.marks.length > 2 && this.marks[1]!.at < at - window) this.marks.shift();
  }

  /** Begins anew, after a pause. */
  reset(): void {
    this.marks = [];
  }

  /** Bytes per second; 0 while it is not known. */
  get speed(): number {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (!first || !last || last.at - first.at < 2000) return 0;
    return ((last.bytes - first.bytes) * 1000) / (last.at - first.at);
  }
}
