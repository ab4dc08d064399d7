/** The checklist of a new site. */
import { expect, test } from "vitest";
import { doneItems, isLocal, items, type Facts, type Item } from "../src/routes/admin/dashboard/checklist";

const nothing: Facts = {
  files: 0,
  users: 1,
  invites: 0,
  keys: 0,
  shares: 0,
  sendsMail: false,
  hasBackup: false,
  baseUrl: "http://127.0.0.1:8080",
  here: "http://127.0.0.1:8080",
};
const address = { baseUrl: "https://larder.example", here: "https://larder.example" };

test("nothing is done on a new site", () => {
  expect([...doneItems(nothing)]).toEqual([]);
});

test.each<[Item, Partial<Facts>]>([
  ["upload", { files: 1 }],
  ["base", address],
  ["base", { baseUrl: "http://nas.lan:8080", here: "http://nas.lan:8080" }],
  ["mail", { sendsMail: true }],
  ["backup", { hasBackup: true }],
  ["people", { users: 2 }],
  ["people", { invites: 1 }],
  ["key", { keys: 1 }],
  ["share", { shares: 1 }],
])("%s is done after %o, and no other item", (item, facts) => {
  expect([...doneItems({ ...nothing, ...facts })]).toEqual([item]);
});

test("links with another address than that of the page are not right", () => {
  expect(doneItems({ ...nothing, ...address, here: "https://other.example" }).has("base")).toBe(false);
  expect(doneItems({ ...nothing, ...address, here: "http://larder.example" }).has("base")).toBe(false);
});

test("everything can be done", () => {
  const all = { files: 1, users: 2, keys: 1, shares: 1, sendsMail: true, hasBackup: true, ...address };
  expect([...doneItems({ ...nothing, ...all })]).toEqual([...items]);
});

test.each([
  ["http://localhost", true],
  ["http://larder.localhost:8080", true],
  ["http://127.1.2.3:8080", true],
  ["http://[::1]:8080", true],
  ["http://192.168.1.2", false],
  ["https://localhost.example.org", false],
  ["https://127.0.0.1.example.org", false],
])("only this machine can open %s: %s", (base, local) => {
  expect(isLocal(base)).toBe(local);
});
