/**
 * The address of a cover or an avatar as far as pages show it, "" for none. The interface takes any
 * http or https address, but a picture of another origin would tell the server there who looks at
 * the page, and when.
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
