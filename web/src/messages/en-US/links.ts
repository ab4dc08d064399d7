import type { links as zh } from "../zh-CN/links";

const plural = (n: number) => (n === 1 ? "1 link" : `${n.toLocaleString("en-US")} links`);

export const links: typeof zh = {
  question: "Who may open the links that you copy?",
  kinds: { permanent: "Anyone with the link", signed: "Anyone, until …", path: "People with access" },
  hints: {
    permanent:
      "Makes a file public to everyone who has its link, until you revoke the link. Fits pictures in pages and documents. The link follows the file when it is moved.",
    signed: "Works without signing in until it expires.",
    path: "The address of the item. Only people who may open it here can open the link; it changes when the item is moved or renamed.",
  },
  lifetime: "Valid for",
  lifetimes: { 3600: "1 hour", 86400: "1 day", 604800: "7 days" },
  format: "Format of the link",
  formats: { direct: "Direct", html: "HTML", markdown: "Markdown", bbcode: "BBCode" },
  impossible: (why) => `Not possible: ${why}.`,
  remembered: "This browser remembers the answer. “Change” in the message after copying asks again.",
  copy: "Copy",
  change: "Change",
  copied: {
    permanent: (n) =>
      n === 1 ? "Copied: anyone with the link can open it." : `${plural(n)} copied: anyone who has them can open them.`,
    signed: (n, until) =>
      n === 1
        ? `Copied: anyone with the link can open it until ${until}.`
        : `${plural(n)} copied: anyone who has them can open them until ${until}.`,
    path: (n) =>
      n === 1
        ? "Copied: only people with access can open it."
        : `${plural(n)} copied: only people with access can open them.`,
  },
  copiedPublic: (n) => (n === 1 ? "Copied: anyone can open it." : `${plural(n)} copied: anyone can open them.`),
  notChosen: (why) => `A link for everyone is not possible: ${why}.`,
  someNotChosen: (n, why) => `${n.toLocaleString("en-US")} of them can only be opened by people with access: ${why}.`,
  obstacles: {
    folder: "only files can have links for everyone",
    password: "a password protects it",
    share: "you may not share it",
    download: "you may not download it",
    guests: "this site is closed to visitors",
    closed: "a rule or setting keeps visitors out",
  },
  skipped: (n) => `${n === 1 ? "1 item has" : `${n.toLocaleString("en-US")} items have`} no link`,
  blocked: "The browser copies only after a click. Choose Copy.",
  joint: " ",
};
