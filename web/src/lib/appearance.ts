/** Colours and emoji for folders and files. */

/** Colours that are easy to tell apart, in both themes. */
export const swatches = [
  "#e5484d",
  "#f76b15",
  "#f2a60d",
  "#8bb61c",
  "#30a46c",
  "#12a594",
  "#0ea5d7",
  "#3b6cf6",
  "#6e56cf",
  "#ab4aba",
  "#e34a90",
  "#7d8593",
] as const;

export const emoji =
  "📁 📂 🗂️ 📦 🗃️ 📄 📝 📚 📖 📰 📷 🖼️ 🎨 🎬 🎵 🎧 🎮 💼 📊 📈 💰 🧾 📅 📌 ⭐ ❤️ 🔥 ✅ 🔒 🔑 💡 🧪 🛠️ 💻 🌐 ✈️ 🏠 🏖️ 🐱 🌱".split(
    " ",
  );

/** The first character of a text, as a user counts characters. */
export function firstSign(text: string): string {
  const [first] = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text.trim());
  return first?.segment ?? "";
}
