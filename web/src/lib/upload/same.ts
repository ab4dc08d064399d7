/** Compares a file whose name is taken with the file of that name. */
import type { Failure } from "../api";
import { sha256Of } from "../sha256";
import type { Item } from "./item";

/** Larger files (bytes) are not compared, because a browser needs minutes to read them. */
const mostCompared = 2 * 2 ** 30;

/**
 * Reports whether the name of an item is taken by a file with the same content, by its SHA-256. The
 * file is read only if its size is the same. Rejects with the signal's reason.
 */
export async function isSame(item: Item, { code, existing }: Failure, signal: AbortSignal): Promise<boolean> {
  const { file } = item;
  if (code !== "ALREADY_EXISTS" || !file || !existing?.sha256 || existing.size !== item.size) return false;
  if (item.size > mostCompared || item.batch.answer === "skip") return false;
  try {
    return (await sha256Of(file, signal)) === existing.sha256;
  } catch {
    signal.throwIfAborted();
    return false; // the upload reports that the file cannot be read
  }
}
