import type { free as zh } from "../zh-CN/free";

const files = (n: string) => (n === "1" ? "1 file" : `${n} files`);

export const free: typeof zh = {
  title: "Use your own bucket",
  intro:
    "You need no account: connect your own S3-compatible bucket to see, upload, download and delete its files for some hours.",
  off: "You can't use your own bucket on this site",
  offText: "The administrators have switched off the use of your own bucket.",
  failed: "Can't tell whether you are connected.",

  warning: "Before you connect",
  warnings: [
    "Your keys go to this server. It keeps them encrypted during the session and deletes them at its end.",
    "Files that you upload and download pass through this server, but are only stored in your bucket.",
    "Use a key with few rights: for this bucket only, to list, read, write and delete.",
  ],
  hours: "Duration",
  hour: (n) => (n === 1 ? "1 hour" : `${n} hours`),
  connect: "Connect",
  connecting: "Connecting…",
  wait: (seconds) => `Too many attempts. Try again in ${seconds} s.`,
  expired:
    "The time of the session is over, and the server has deleted your keys. Enter the secret access key to go on.",
  left: "The session has ended, and the server has deleted your keys.",
  pending: (n) =>
    `${files(n)} ${n === "1" ? "is" : "are"} not uploaded yet. Uploads continue when you connect to the same bucket.`,
  wrong: {
    endpoint: "Enter https:// or http:// with a host that has a public address, at a port that object storages use.",
    hours: "Choose 1 to 8 hours.",
    refused: "The storage refused the keys or the bucket. Check bucket, region, access key ID and secret access key.",
    silent:
      "No S3-compatible storage answered at this address within 5 seconds. Check the endpoint, the kind and the form of addresses.",
    sessions:
      "Your network has reached its limit of 10 sessions, or this site has reached its own limit. End a session, or try again later.",
    insecure: "This site connects buckets over https only. Open this page by https.",
  },

  connected: (bucket) => `Connected to “${bucket}”`,
  timeLeft: "Time left",
  hoursLeft: (hours, minutes) => `${hours} h ${minutes} min left`,
  minutesLeft: (minutes) => `${minutes} min left`,
  secondsLeft: (time) => `${time} left`,
  soon: "The session ends within 5 minutes. Uploads that are unfinished then stop, and can continue after you connect again.",
  end: "End session",
  endTitle: "End the session?",
  endText: (n) => `${files(n)} ${n === "1" ? "is" : "are"} not uploaded yet. Ending the session cancels the upload.`,

  upload: "Upload",
  folders: "Folders",
  files: "Files",
  more: "Show more",
  partial: (n) => `${n} items are shown, and there are more.`,
  hidden: (n) =>
    n === "1"
      ? "1 object is not listed, because its name has characters that can't be used here."
      : `${n} objects are not listed, because their names have characters that can't be used here.`,
  empty: "This bucket is empty",
  emptyFolder: "This folder is empty",
  emptyText: "Drop files here, or choose “Upload”.",
  remove: "Delete",
  removeOf: (name) => `Delete “${name}”`,
  removeTitle: (name) => `Delete “${name}”?`,
  removeText: "The file is deleted from your bucket. It can't be restored here.",
  removed: (name) => `“${name}” is deleted.`,
  otherTab: (bucket) => `Another tab has connected this browser to “${bucket}”. That bucket is shown now.`,

  uploads: {
    title: "Uploads",
    tidy: "Remove finished",
    status: (done, total) => `${done} of ${files(total)} uploaded`,
    waiting: "Waiting",
    checking: "Checking the name…",
    held: "Only two transfers can run at a time. Waiting…",
    ended: "Stopped by the end of the session",
    percent: (percent, size) => `${percent}% of ${size}`,
    done: (size) => `Done · ${size}`,
    exists: "The bucket has a file with this name. Replacing it can't be undone.",
    unsure: "The key may not check whether there is a file with this name. If so, it is replaced for good.",
    replace: "Replace",
    anyway: "Upload anyway",
    skip: "Skip",
    replaceOf: (name) => `Replace “${name}”`,
    skipOf: (name) => `Skip “${name}”`,
    replaceAll: (n) => `Replace all (${n})`,
    skipAll: "Skip all",
    cancelOf: (name) => `Cancel the upload of “${name}”`,
    removeOf: (name) => `Remove “${name}” from the list`,
    retryOf: (name) => `Retry “${name}”`,
  },

  failures: {
    UNAUTHORIZED: "The session has ended. Connect again.",
    FORBIDDEN: "The storage refused this: the key lacks the permission or is no longer valid.",
    NOT_FOUND: "The bucket no longer has this file.",
    VALIDATION_ERROR:
      "This name can't be used here. It must not contain “..”, “~”, backslashes or control characters, and has at most 1,024 bytes.",
    OPERATION_FAILED: "The transfer was cut off, and the file is not stored. Try again.",
    PAYLOAD_TOO_LARGE: "The file has more than 1 GB, the most that can be uploaded here. It was not sent.",
    INVALID_CSRF:
      "This browser has another session now, and nothing was done. Check which bucket is shown, and try again.",
    RATE_LIMIT_EXCEEDED: "At most two transfers and two other operations run at a time. Wait a moment and try again.",
    INTERNAL_ERROR: "Your storage failed or did not answer. Try again.",
  },
};
