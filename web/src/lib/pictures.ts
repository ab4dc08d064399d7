/**
 * The address of a cover or an avatar if pages may show it, "" otherwise. The API accepts any http
 * or https address, but a picture of another origin would tell its server who looks at the page,
 * and when.
 */
export function shownPicture(address: string | null | undefined): string {
  if (!address) return "";
  let url: URL;
  try {
    url = new URL(address, location.href);
  } catch {
    return "";
  }
  return /^https?:$/.test(url.protocol) && url.origin === location.origin ? address : "";
}
