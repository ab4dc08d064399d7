/** Warnings of the server in the language of the reader. */
import type { Schemas } from "../../../lib/api";
import { dateTime, number, size, t } from "../../../lib/i18n.svelte";

export type Warning = Schemas["ApiSystemWarning"];

/** The sentence of a warning, undefined for a code that this page does not know. */
export function warningText(warning: Warning): string | undefined {
  const { code, provider = "", file = "" } = warning;
  const [free, least] = [size(warning.freeSpace ?? 0), size(warning.minFree ?? 0)];
  const words = t.admin.system.warnings;
  switch (code) {
    case "store_unavailable":
      return words.storeUnavailable(provider);
    case "disk_full":
      return words.diskFull(provider, free, least);
    case "disk_nearly_full":
      return words.diskNearlyFull(provider, free, least);
    case "objects_damaged":
      return words.objectsDamaged(warning.objects ?? 0, number(warning.objects ?? 0));
    case "jobs_failed":
      return words.jobsFailed(
        number(warning.jobs ?? 0),
        words.jobTypes[warning.jobType ?? ""] ?? warning.jobType ?? "",
        dateTime(warning.since ?? null),
      );
    case "backup_old":
      return words.backupOld(dateTime(warning.endedAt ?? null));
    case "backup_problems":
      return words.backupProblems(number(warning.problems ?? 0));
    case "fsck_problems":
      return words.fsckProblems(number(warning.problems ?? 0));
    case "access_log_replaced":
      return words.logReplaced(file);
    case "limits_not_shared":
      return words.limitsNotShared;
    case "scrub_backup_missing":
      return words.scrubBackupMissing;
    default:
      return undefined;
  }
}
