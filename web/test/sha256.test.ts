import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Sha256, sha256Of } from "../src/lib/sha256";

const bytes = (text: string) => new TextEncoder().encode(text);

// the examples of FIPS 180-2, appendix B, and the empty message
test.each([
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
  ["a".repeat(1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"],
])("the sum of %.20s", async (text, sum) => {
  expect(await sha256Of(new Blob([text]))).toBe(sum);
});

test("pieces of any length give the sum of the whole", () => {
  const whole = bytes("The quick brown fox jumps over the lazy dog. ".repeat(5)).subarray(0, 200);
  for (let length = 0; length <= whole.length; length++) {
    const data = whole.subarray(0, length);
    const sum = createHash("sha256").update(data).digest("hex");
    for (const piece of [1, 7, 63, 64, 65]) {
      const hash = new Sha256();
      for (let at = 0; at < length; at += piece) hash.update(data.subarray(at, at + piece));
      expect(hash.hex()).toBe(sum);
    }
  }
});

test("a file of several pieces, and one that is given up", async () => {
  const file = new Blob([new Uint8Array(5 * 1024 * 1024 + 3).fill(7)]);
  const sum = createHash("sha256")
    .update(new Uint8Array(await file.arrayBuffer()))
    .digest("hex");
  expect(await sha256Of(file)).toBe(sum);
  await expect(sha256Of(file, AbortSignal.abort(new Error("given up")))).rejects.toThrow("given up");
});
