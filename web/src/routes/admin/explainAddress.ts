/**
 * The address of the explanation whether a visitor may do something at a path; with `account`,
 * whether the account with that id may.
 */
export function explainAddress(path: string, permission: string, account = ""): string {
  const question = `explain=1&permission=${permission}&path=${encodeURIComponent(path)}`;
  return `/app/admin/rules?${question}${account ? `&user=${account}` : ""}`;
}
