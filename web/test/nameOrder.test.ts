import { expect, test } from "vitest";
import { compare, findName, sortKey } from "../src/lib/nameOrder";

// The names and keys of internal/vpath/sortkey_test.go, in the order of listings. Names on one line
// have equal keys.
const sorted = [
  ["(1)"],
  ["-5"],
  ["0", "00", "٠"],
  ["01", "1", "１"],
  ["1 a"],
  ["1a"],
  ["001b", "1b"],
  ["2"],
  ["9"],
  ["10"],
  ["99999999"],
  ["100000000"],
  ["999999999"],
  ["1000000000"],
  ["99999999999999999"],
  ["100000000000000000"],
  ["18446744073709551615"],
  ["18446744073709551616"],
  [`1${"0".repeat(254)}`],
  [`9${"0".repeat(254)}`],
  ["IMG.jpg"],
  ["IMG_9.jpg", "img_09.JPG"],
  ["IMG_10.jpg"],
  ["lake"],
  ["lake "],
  ["lake 0"],
  ["lake 2"],
  ["Lake 3", "lake 3"],
  ["lake 10", "lake १०", "lake １０"],
  ["lake 10a"],
  ["lake two"],
  ["LÄNGE 7", "länge 7"],
  ["LÄNGE 12", "länge 12"],
  ["STRASSE 2", "Straße 2"],
  ["v1.2.9"],
  ["v1.2.10"],
  ["v1.10"],
  ["x²"],
  ["Ü", "ü", "U\u0308"],
  ["第2章"],
  ["第10章"],
  ["第二章"],
  ["🐈 2"],
  ["🐈 10"],
];

test("names have the order of the server", () => {
  for (const [n, line] of sorted.entries()) {
    for (const name of line) expect(sortKey(name), name).toBe(sortKey(line[0]!));
    if (n > 0) expect(compare(sortKey(sorted[n - 1]![0]!), sortKey(line[0]!)), line[0]).toBeLessThan(0);
  }
  expect(compare("\u{1f408}", "\u{ffee}")).toBeGreaterThan(0); // by code points, not by code units
});

test.each([
  ["", ""],
  ["Lake 2", "lake 12"],
  ["lake 10", "lake 210"],
  ["000", "0"],
  ["a007", "a17"],
  ["12345678", "812345678"],
  ["123456789", "90123456789"],
  ["1234567890123456789", "9911234567890123456789"],
  ["E\u0301", "\u00e9"],
  ["e\u0301 ٣", "\u00e9 13"],
  ["ΣΑΣ", "σασ"],
  ["σας", "σασ"],
  ["ǅ9", "ǆ19"],
  ["ẞ", "ss"],
  ["ı", "ı"],
  ["𝟗𝟘", "290"], // digits of two neighbouring rows
])("the key of %j is %j", (name, key) => {
  expect(sortKey(name)).toBe(key);
});

const padded = Array.from({ length: 1000 }, (_, n) => `f${String(n).padStart(4, "0")}.jpg`);
const counted = Array.from({ length: 1200 }, (_, n) => `IMG ${n + 1}.jpg`);
const holes = counted.filter((name) => !/^IMG \d{1,3}\./.test(name) || name === "IMG 1.jpg" || name === "IMG 101.jpg");
const dated = Array.from({ length: 600 }, (_, n) => `IMG_20${10 + (n % 30)}${String(n).padStart(4, "0")}`).sort();

test.each([
  [counted, "img 1000", "IMG 1000.jpg", "IMG 1000.jpg"],
  [counted, "img 10", "IMG 10.jpg", "IMG 1099.jpg"],
  [counted, "img 2", "IMG 2.jpg", "IMG 299.jpg"],
  [counted, "img", "IMG 1.jpg", "IMG 1200.jpg"],
  [counted, "img 1201", undefined, undefined],
  [counted, "img 1200.j", "IMG 1200.jpg", "IMG 1200.jpg"],
  [holes, "img 100", "IMG 1000.jpg", "IMG 1009.jpg"],
  [padded, "F07", "f0700.jpg", "f0799.jpg"],
  [padded, "f00", "f0000.jpg", "f0099.jpg"],
  [dated, "img_2015", "IMG_20150005", "IMG_20150575"],
  [dated, "imh", undefined, undefined],
])("the first name that begins with a text is found", async (names, text, up, down) => {
  const find = async (descending: boolean) => {
    const list = descending ? names.toReversed() : names;
    const page = (n: number) => Promise.resolve(list.slice(n * 50, n * 50 + 50).map((name) => ({ name })));
    return list[await findName({ length: list.length, size: 50, descending, page }, text)];
  };
  expect([await find(false), await find(true)]).toEqual([up, down]);
});
