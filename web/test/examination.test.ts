import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Examination } from "../src/routes/photos/examination";

const page = { hidden: false };
vi.stubGlobal("document", page);

let asked: number[] = [];
const began = 1_000_000;
const ask = async () => void asked.push(Date.now() - began);

beforeEach(() => {
  vi.useFakeTimers({ now: began });
  asked = [];
  page.hidden = false;
});
afterEach(() => vi.useRealTimers());

test("while a picture waits, the page asks less and less often", async () => {
  const examination = new Examination(ask);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(asked).toEqual([]);
  const leave = examination.wait();
  await vi.advanceTimersByTimeAsync(50_000);
  expect(asked).toEqual([101_500, 104_500, 110_500, 122_500, 146_500]);
  leave();
  await vi.advanceTimersByTimeAsync(500_000);
  expect(asked).toHaveLength(5);
});

test("the page asks once a minute at last, for all pictures together", async () => {
  const examination = new Examination(ask);
  examination.wait();
  examination.wait();
  await vi.advanceTimersByTimeAsync(153_500);
  expect(asked).toEqual([1500, 4500, 10_500, 22_500, 46_500, 94_500]);
  await vi.advanceTimersByTimeAsync(1000 + 120_000);
  expect(asked.slice(6)).toEqual([154_500, 214_500, 274_500]);
});

test("the page asks ten times after a change, and no more", async () => {
  const examination = new Examination(ask);
  examination.wait();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(asked).toHaveLength(10);
  examination.changed();
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(asked).toHaveLength(20);
});

test("a change makes the page ask soon again", async () => {
  const examination = new Examination(ask);
  examination.wait();
  await vi.advanceTimersByTimeAsync(50_000);
  asked = [];
  examination.changed();
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked).toEqual([51_500, 54_500]);
});

test("a hidden page does not ask, and nothing is asked after the end", async () => {
  const examination = new Examination(ask);
  examination.wait();
  page.hidden = true;
  await vi.advanceTimersByTimeAsync(2000);
  expect(asked).toEqual([]);
  page.hidden = false;
  await vi.advanceTimersByTimeAsync(3000);
  expect(asked).toEqual([4500]);
  examination.stop();
  await vi.advanceTimersByTimeAsync(500_000);
  expect(asked).toEqual([4500]);
});
