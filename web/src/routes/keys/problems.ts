/** Validates the form of a key, field by field. The server checks again, and more strictly. */
import { badAddress, listed } from "../../lib/clients/addresses";
import { isUploadPath, unknownPlaceholder } from "../../lib/clients/template";
import { t } from "../../lib/i18n.svelte";

export interface Problems {
  name?: string;
  folder?: string;
  permissions?: string;
  protocols?: string;
  addresses?: string;
  expiry?: string;
  /** An error of no single field. */
  form?: string;
}

interface Form {
  name: string;
  permissions: readonly string[];
  addresses: string;
  expiry: number | null | undefined;
  protocols?: readonly string[];
  folder?: string;
}

export function problemsOf(form: Form): Problems {
  const found: Problems = {};
  if (form.name.trim() === "") found.name = t.keys.wrong.name;
  if (form.permissions.length === 0) found.permissions = t.keys.wrong.permissions;
  if (form.protocols?.length === 0) found.protocols = t.keys.wrong.protocols;
  if (form.folder !== undefined) {
    const unknown = unknownPlaceholder(form.folder);
    if (!isUploadPath(form.folder)) found.folder = t.keys.wrong.folder;
    else if (unknown) found.folder = t.keys.wrong.placeholder(unknown);
  }
  const bad = badAddress(listed(form.addresses));
  if (bad) found.addresses = t.keys.wrong.address(bad);
  if (typeof form.expiry === "number" && form.expiry < 60) found.expiry = t.keys.wrong.exact;
  return found;
}
