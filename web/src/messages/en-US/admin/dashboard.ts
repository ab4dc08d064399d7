import type { dashboard as zh } from "../../zh-CN/admin/dashboard";

export const dashboard: typeof zh = {
  failed: "The dashboard could not be loaded.",
  noCharts: "The charts could not be loaded.",
  attention: "Needs attention",
  warnings: {
    storeUnavailable: (name) => `The storage “${name}” doesn't answer or can't be used. The server's log says why.`,
    diskFull: (name, free, least) =>
      `The disk of the storage “${name}” is full: ${free} are free. Uploads are refused until ${least} are free ` +
      `(LARDER_MIN_FREE). Delete files, or give the disk more space.`,
    diskNearlyFull: (name, free, least) =>
      `The disk of the storage “${name}” is nearly full: ${free} are free. Uploads are refused below ${least} ` +
      `(LARDER_MIN_FREE).`,
    logReplaced: (file) =>
      `The access log was damaged when the server started. The server set it aside as ${file} and began a new one. ` +
      `Check the disk.`,
    limitsNotShared:
      "Redis doesn't answer, so each replica counts rate limits by itself. They are shared again when it answers.",
  },
  used: "Used space",
  requests: "Requests in 24 hours",
  period: "Time",
  charts: { transfers: "Uploads and downloads", traffic: "Traffic", signIns: "Sign-ins" },
  metrics: {
    uploads: "Uploads",
    downloads: "Downloads",
    uploadBytes: "Uploaded",
    downloadBytes: "Downloaded",
    logins: "Successful",
    failedLogins: "Failed",
  },
  entriesOf: (action) => `In the log: ${action}`,
  free: "Free space",
  state: "State",
  answers: (ms) => `Answers in ${ms} ms`,
  silent: "Doesn't answer",
  operation: "Operation",
  version: "Version",
  database: "Database",
  replicas: "Running replicas",
  jobs: "Background jobs",
  jobCounts: (open, failed) => `${open} open, ${failed} failed in 30 days`,
  garbage: "Waiting to be removed",
  objects: (n, size) => (n === 1 ? `1 object, ${size}` : `${n} objects, ${size}`),
  backup: "Last backup",
  fsck: "Last check",
  neverRun: "None so far",
  ranWith: (when, problems) => (problems === 1 ? `${when}, 1 problem` : `${when}, ${problems} problems`),
  activity: "Recent activity",
  noActivity: "Nothing yet",
  allEntries: "All entries of the log",
};
