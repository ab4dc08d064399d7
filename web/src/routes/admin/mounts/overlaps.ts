/** The order of the mounts in their tree, and which of those that overlap wins. */
import type { Schemas } from "../../../lib/api";

export type Mount = Schemas["ApiAdminMountReply"];
type Ranked = Pick<Mount, "id" | "mountPath" | "priority" | "createdAt">;

/** The rule by which one mount wins over another. */
export type Why = "priority" | "longer" | "older";

export function within(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}

/** Negative when `a` wins over `b`: higher priority, then longer path, then older. */
function rank(a: Ranked, b: Ranked): number {
  return (
    b.priority - a.priority ||
    b.mountPath.length - a.mountPath.length ||
    a.createdAt - b.createdAt ||
    (a.id < b.id ? -1 : 1)
  );
}

function why(winner: Ranked, other: Ranked): Why {
  if (winner.priority !== other.priority) return "priority";
  return winner.mountPath.length === other.mountPath.length ? "older" : "longer";
}

export interface Standing<M> {
  mount: M;
  /** Levels below the top of the tree: the number of mounts whose path is above. */
  level: number;
  /** The mount that covers all of this one, and why. */
  coveredBy?: { mount: M; why: Why };
  /** The nearest mount around or at its path over which it wins, and why. */
  winsOver?: { mount: M; why: Why };
}

/** The mounts as a tree: by path, those of one path in the order of precedence. */
export function standings<M extends Ranked>(mounts: readonly M[]): Standing<M>[] {
  const order = mounts.toSorted((a, b) => comparePaths(a.mountPath, b.mountPath) || rank(a, b));
  return order.map((mount) => {
    const around = mounts.filter((other) => other.id !== mount.id && within(mount.mountPath, other.mountPath));
    const best = around.toSorted(rank)[0];
    const paths = new Set(around.map((other) => other.mountPath).filter((path) => path !== mount.mountPath));
    const standing: Standing<M> = { mount, level: paths.size };
    if (best && rank(best, mount) < 0) standing.coveredBy = { mount: best, why: why(best, mount) };
    else {
      const nearest = around.toSorted((a, b) => b.mountPath.length - a.mountPath.length || rank(a, b))[0];
      if (nearest) standing.winsOver = { mount: nearest, why: why(mount, nearest) };
    }
    return standing;
  });
}

/** The mounts that a new or changed one would cover completely. */
export function coveredThrough<M extends Ranked>(changed: M, others: readonly M[]): M[] {
  const before = new Set(standings(others).flatMap(({ mount, coveredBy }) => (coveredBy ? [mount.id] : [])));
  return standings([...others, changed]).flatMap(({ mount, coveredBy }) =>
    coveredBy?.mount.id === changed.id && !before.has(mount.id) ? [mount] : [],
  );
}

/**
 * The mounts whose content cannot be reached any more at its former path after a mount is created
 * or changed to `planned`: its own if it is moved or covered, and that of the mounts that it
 * covers. A mount that is covered already has nothing to lose.
 */
export function losing(mounts: readonly Mount[], planned: Ranked): Mount[] {
  const from = mounts.find(({ id }) => id === planned.id);
  const others = mounts.filter((mount) => mount !== from);
  const standing = standings<Ranked>([...others, planned]).find(({ mount }) => mount === planned);
  const own = from && (planned.mountPath !== from.mountPath || standing?.coveredBy) ? [from] : [];
  const covered = new Set(coveredThrough<Ranked>(planned, others).map(({ id }) => id));
  return [...own, ...others.filter(({ id }) => covered.has(id))].filter(({ hidden }) => !hidden);
}

/** By segments, so that /a/b comes before /a-b. */
function comparePaths(a: string, b: string): number {
  const [left, right] = [a.replaceAll("/", "\0"), b.replaceAll("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A path as the server stores it: one slash at the start, none at the end. */
export function tidyPath(text: string): string {
  return `/${text
    .trim()
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/")}`;
}
