import { expect, test } from "vitest";
import { changes as enChanges } from "../src/messages/en-US/changes";
import { links as enLinks } from "../src/messages/en-US/links";
import { panels as enPanels } from "../src/messages/en-US/panels";
import { changes as zhChanges } from "../src/messages/zh-CN/changes";
import { links as zhLinks } from "../src/messages/zh-CN/links";
import { panels as zhPanels } from "../src/messages/zh-CN/panels";

const en = { changes: enChanges, links: enLinks, panels: enPanels };
const zh = { changes: zhChanges, links: zhLinks, panels: zhPanels };

test("large numbers are written as readers write them, and one is one", () => {
  expect([1, 3000].map(en.panels.items)).toEqual(["1 item", "3,000 items"]);
  expect([1, 3000].map(en.panels.failed)).toEqual(["1 item failed", "3,000 items failed"]);
  expect(en.panels.remove.count(3000, 1)).toBe("3,000 files, 1 folder");
  expect(en.panels.links.titleMany(3000)).toBe("3,000 links");
  expect(en.links.copied.path(3000, "")).toBe("3,000 links copied: only people with access can open them.");
  expect(en.links.copied.permanent(1, "")).toBe("Copied: anyone with the link can open it.");
  expect(en.changes.moved(3000, "a")).toBe("3,000 items moved to “a”.");
  expect(zh.panels.items(3000)).toBe("3,000 个项目");
  expect(zh.panels.remove.count(3000, 1)).toBe("3,000 个文件、1 个文件夹");
  expect(zh.panels.links.titleMany(3000)).toBe("3,000 个链接");
  expect(zh.changes.moved(3000, "a")).toBe("已将 3,000 项移动到“a”。");
});
