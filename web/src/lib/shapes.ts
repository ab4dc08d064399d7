/** The icon of an entry without a picture, by the kind that the viewer sees in it. */
import fileIcon from "lucide:file";
import folderIcon from "lucide:folder";
import imageIcon from "lucide:image";
import musicIcon from "lucide:music";
import textIcon from "lucide:file-text";
import videoIcon from "lucide:film";
import type { Entry } from "./entry";
import { kindOf, type Kind } from "./preview";

const shapes: Record<Kind, string> = {
  image: imageIcon,
  video: videoIcon,
  audio: musicIcon,
  text: textIcon,
  code: textIcon,
  markdown: textIcon,
  pdf: textIcon,
  none: fileIcon,
};

export function shapeOf(entry: Pick<Entry, "type" | "name" | "mimeType" | "size">): string {
  return entry.type === "folder" ? folderIcon : shapes[kindOf(entry)];
}
