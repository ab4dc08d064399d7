import type { system as zh } from "../../zh-CN/admin/system";

export const system: typeof zh = {
  failed: "Couldn't load the state of the system.",
  attention: "Needs attention",
  noProblems: "Nothing needs attention.",
  warnings: {
    storeUnavailable: (name) => `The storage “${name}” doesn't answer or can't be used. The server's log says why.`,
    diskFull: (name, free, least) =>
      `The disk of the storage “${name}” is full: ${free} are free. Uploads are refused until ${least} are free ` +
      `(LARDER_MIN_FREE). Delete files, or give the disk more space.`,
    diskNearlyFull: (name, free, least) =>
      `The disk of the storage “${name}” is nearly full: ${free} are free. Uploads are refused below ${least} ` +
      `(LARDER_MIN_FREE).`,
    objectsDamaged: (n, text) =>
      `${n === 1 ? "1 stored object is damaged, so its files" : `${text} stored objects are damaged, so their files`} ` +
      `can't be read. Heal from a backup with larder scrub --now --from BACKUP, or replace the files.`,
    jobsFailed: (count, kind, since) =>
      `Failed jobs in the last two days: ${count} (${kind}), the first on ${since}. Lines of the server's log that ` +
      `begin with “a job failed” have the account and the cause. Remove the cause, then start the jobs again, or ask ` +
      `their users to do so.`,
    jobTypes: {
      move: "moving",
      copy: "copying",
      purge: "deleting for good",
      rewind: "bringing back an earlier state",
      evacuate: "moving a storage",
      checksum: "computing checksums",
      legacy: "handing over files of a deleted account",
      scrub: "scrub",
      "verify-mail": "email to verify an address",
      "resend-mail": "email to verify an address",
      "reset-mail": "email to reset a password",
    },
    backupOld: (time) =>
      `The last backup ended on ${time}. Find out why the timer or cron job of larder backup fails or doesn't run.`,
    backupProblems: (count) =>
      `Problems that the last backup reported: ${count}. Its output names them. Make another backup after you have fixed them.`,
    fsckProblems: (count) =>
      `Problems that the last check reported: ${count}. Its output names them. Run larder fsck again after you have fixed them.`,
    logReplaced: (file) =>
      `The access log was damaged when the server started. The server set it aside as ${file} and began a new one. ` +
      `Check the disk.`,
    limitsNotShared:
      "Redis doesn't answer, so each replica counts rate limits by itself. Check that the server of " +
      "LARDER_REDIS_URL runs. The limits are shared again when it answers.",
    scrubBackupMissing:
      "The backup of LARDER_SCRUB_BACKUP can't be read, so damaged objects are not healed from it. The log says why. " +
      "Mount its disk, or correct the setting.",
  },
  facts: "Operation",
  version: "Version",
  versionsDiffer:
    "The replicas run different versions. During an upgrade that is normal; otherwise upgrade the others.",
  database: "Database",
  databaseText: (engine, schema) => `${engine}, schema ${schema}`,
  unreachable: "Can't be reached",
  replicas: "Replicas seen in the last minute",
  replica: "Replica",
  schema: "Schema",
  seen: "Last seen",
  now: "Just now",
  noReplicas: "No replica has reported in the last minute",
  stores: "State of the storages",
  latency: "Latency",
  ms: (ms) => `${ms} ms`,
  free: "Free space",
  state: "State",
  answers: "Answers",
  silent: "Doesn't answer",
  kind: "Kind",
  disk: "Disk of the server",
  bucket: "Bucket",
  jobs: "Background jobs",
  jobCounts: (running, waiting) => `${running} running, ${waiting} waiting`,
  jobEnds: (completed, failed) => `In 30 days: ${completed} completed, ${failed} failed`,
  garbage: "Waiting to be removed",
  objects: (n, size) => (n === "1" ? `1 object, ${size}` : `${n} objects, ${size}`),
  thumbnails: "Cache of thumbnails",
  thumbnailText: (n, size) => (n === "1" ? `1 thumbnail, ${size}` : `${n} thumbnails, ${size}`),
  thumbnailsOff: "Thumbnails are switched off",
  backup: "Last backup",
  fsck: "Last check",
  neverRun: "None so far",
  problems: (n) =>
    n === "0"
      ? "No problems"
      : n === "1"
        ? "1 problem, see the output of the command"
        : `${n} problems, see the output of the command`,
  backupHelp: "Run larder backup to make a backup.",
  fsckHelp: "Run larder fsck to check the storage.",
  scrub: "Last scrub",
  scrubText: (problems, healed) =>
    problems === "0" ? "No damaged objects" : `Damaged objects: ${problems}, healed: ${healed}`,
  scrubUnread: (count) => `Objects that could not be read, because their storage did not answer: ${count}`,
  scrubHelp: "The server reads every object on its disks once in 90 days.",
};
