/** Warnings of the server in words. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { setLocale, withTexts } from "../src/lib/i18n.svelte";
import { warningText, type Warning } from "../src/routes/admin/system/warning";

vi.hoisted(() => {
  vi.stubGlobal("location", { pathname: "/", search: "" });
  vi.stubGlobal("history", { state: null });
  vi.stubGlobal("document", { documentElement: {} });
});

const { components } = JSON.parse(readFileSync("openapi.json", "utf8")) as {
  components: { schemas: { ApiSystemWarning: { properties: { code: { enum: Warning["code"][] } } } } };
};
const codes = components.schemas.ApiSystemWarning.properties.code.enum;
const warning = (code: Warning["code"], more: Partial<Warning> = {}): Warning => ({ code, message: "Told.", ...more });
const disk = { provider: "attic", freeSpace: 300 << 20, minFree: 512 << 20 };

describe.each(["en-US", "zh-CN"] as const)("in %s", (language) => {
  beforeAll(async () => {
    await setLocale(language);
    await withTexts(Promise.resolve(), "admin");
  });

  test.each(codes)("%s has a sentence of its own with its figures", (code) => {
    const text = warningText(warning(code, { ...disk, file: "/data/audit.db.malformed-1" }))!;
    const end = language === "en-US" ? "." : "。";
    expect(text.endsWith(end)).toBe(true);
    if (/store|disk/.test(code)) expect(text).toContain("attic");
    if (/disk/.test(code)) expect(text).toMatch(/300 MB.*512 MB/);
    if (code === "objects_damaged") expect(warningText(warning(code, { objects: 1234 }))).toContain("1,234");
    if (code === "jobs_failed") {
      const failed = { jobType: "purge", jobs: 1234, since: Date.UTC(2026, 1, 3) };
      const kind = language === "en-US" ? "deleting for good" : "彻底删除";
      for (const part of ["1,234", kind, "2026"]) expect(warningText(warning(code, failed))).toContain(part);
      expect(warningText(warning(code, { ...failed, jobType: "newer" }))).toContain("newer");
    }
    if (code === "backup_old") expect(warningText(warning(code, { endedAt: Date.UTC(2026, 1, 3) }))).toContain("2026");
    if (/problems/.test(code)) expect(warningText(warning(code, { problems: 1234 }))).toContain("1,234");
    if (/log/.test(code)) expect(text).toContain("/data/audit.db.malformed-1");
    const others = codes.filter((one) => one !== code).map((one) => warningText(warning(one, disk)));
    expect(others).not.toContain(text);
  });

  test("a disk without any free space", () => {
    expect(warningText(warning("disk_full", { ...disk, freeSpace: 0 }))).toMatch(/[ ：]0 B/);
  });

  test("a code of a newer server has none", () => {
    expect(warningText(warning("on_fire" as Warning["code"]))).toBeUndefined();
  });
});
