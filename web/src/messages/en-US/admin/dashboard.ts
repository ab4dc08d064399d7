import type { dashboard as zh } from "../../zh-CN/admin/dashboard";

export const dashboard: typeof zh = {
  failed: "Couldn't load the dashboard.",
  noCharts: "Couldn't load the charts.",
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
  problems: (n) => (n === 1 ? "1 problem needs attention" : `${n} problems need attention`),
  noProblems: "No problems",
  running: (version, n) => (n === 1 ? `Version ${version}` : `Version ${version}, ${n} replicas`),
  activity: "Recent activity",
  noActivity: "Nothing yet",
  allEntries: "All entries of the log",
};
