/** File names: their parts, and the kind of a file. */

/** The extension of a name in lower case; "" without one, and for names like `.profile`. */
export function extension(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot > 0 && dot < name.length - 1 ? name.slice(dot + 1).toLowerCase() : "";
}

// Firefox has it since 2024.
const segmenter = Intl.Segmenter ? new Intl.Segmenter() : undefined;

/**
 * The characters of a text as a reader counts them. Browsers without a segmenter see code points
 * and what joins them: combining marks, variation selectors, skin tones, joiners and flags.
 */
export function graphemes(text: string): string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return [...text];
  if (segmenter) return [...segmenter.segment(text)].map(({ segment }) => segment);
  return text.match(joined) ?? [];
}

const mark = "[\\p{M}\\u{fe0f}\\u{1f3fb}-\\u{1f3ff}]*";
const joined = new RegExp(`\\p{RI}\\p{RI}|[^\\u{200d}]${mark}(?:\\u{200d}[^\\u{200d}]${mark})*|\\u{200d}`, "gsu");

/** Characters that are written from right to left: Hebrew, Arabic and related scripts. */
const rightToLeft = /[\u{590}-\u{8ff}\u{fb1d}-\u{fdff}\u{fe70}-\u{fefc}\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The length of a name without its extension, in characters. */
export function baseLength(name: string): number {
  const end = extension(name);
  return end ? name.length - end.length - 1 : name.length;
}

/** Characters that are as wide as two letters: Chinese, Japanese, Korean. */
const wide =
  /[\u{1100}-\u{115f}\u{2e80}-\u{9fff}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{ff00}-\u{ff60}\u{20000}-\u{3ffff}]/u;

/**
 * Splits a name into two parts, of which only the first is truncated on the screen: the second has
 * the extension and what is before it, because names often differ at their end. The split never
 * divides a grapheme. Names that are short or have right-to-left text are split before the
 * extension: letters on both sides of a split would not be joined.
 */
export function halves(name: string): [string, string] {
  const whole = name.slice(0, baseLength(name));
  const ending = name.slice(whole.length);
  if (ending.length > longestEnding) return [name, ""];
  const base = graphemes(whole);
  const kept = base.slice(-4).some((sign) => wide.test(sign)) ? 2 : 4;
  if (base.length <= 2 * kept || rightToLeft.test(name)) return [whole, ending];
  return [base.slice(0, -kept).join(""), base.slice(-kept).join("") + ending];
}

/** Longer endings are no extensions but words after a dot. */
const longestEnding = 16;

export type FileKind =
  "image" | "video" | "audio" | "pdf" | "text" | "code" | "archive" | "sheet" | "document" | "slides" | "file";

const byExtension = new Map<string, FileKind>();
const extensions: Partial<Record<FileKind, string>> = {
  text: "txt md markdown log rtf",
  code: "js mjs ts tsx jsx json html css xml yaml yml toml go rs py rb java kt c h cpp hpp cs php sh ps1 sql svelte vue",
  archive: "zip gz tgz tar 7z rar xz bz2 zst iso dmg",
  sheet: "xls xlsx ods csv tsv numbers",
  document: "doc docx odt pages epub",
  slides: "ppt pptx odp key",
  pdf: "pdf",
  image: "svg",
};
for (const [kind, list] of Object.entries(extensions))
  for (const one of list.split(" ")) byExtension.set(one, kind as FileKind);

export function fileKind(name: string, mimeType = ""): FileKind {
  const family = mimeType.split("/")[0];
  if (family === "image" || family === "video" || family === "audio") return family;
  return (
    byExtension.get(extension(name)) ?? (mimeType === "application/pdf" ? "pdf" : family === "text" ? "text" : "file")
  );
}
