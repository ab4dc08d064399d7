import { expect, test } from "vitest";
import { csv } from "../src/lib/csv";

test("cells with commas, quotes and lines are quoted", () => {
  expect(
    csv(
      ["a", "b"],
      [
        ["x,y", 'say "hi"'],
        ["two\nlines", 5],
      ],
    ),
  ).toBe('\ufeffa,b\r\n"x,y","say ""hi"""\r\n"two\nlines",5\r\n');
});

test("no text is computed by a spreadsheet; numbers stay numbers", () => {
  expect(csv(["p"], [["=cmd|' /C calc'!A0"], ["+1"], ["-1"], ["@a"], ["\ta"], [-1], [null], ["a=b"]])).toBe(
    "\ufeffp\r\n'=cmd|' /C calc'!A0\r\n'+1\r\n'-1\r\n'@a\r\n'\ta\r\n-1\r\n\r\na=b\r\n",
  );
});
