/** The stars of the account. */
import { client, take } from "./api";
import type { Entry } from "./entry";

type Listener = (id: string, favourite: boolean) => void;

const listeners = new Set<Listener>();

/** Calls the listener after each change of a star. Returns a function that removes the listener. */
export function onStar(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Stars an entry, or removes its star. Throws Failure: OPERATION_FAILED when there are too many.
 */
export async function star({ id }: Pick<Entry, "id">, favourite: boolean): Promise<void> {
  const params = { params: { path: { id } } };
  if (favourite) await take(client.PUT("/api/users/me/favourites/{id}", params));
  else await take(client.DELETE("/api/users/me/favourites/{id}", params));
  for (const listener of listeners) listener(id, favourite);
}
