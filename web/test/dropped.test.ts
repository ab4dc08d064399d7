import { afterEach, expect, test, vi } from "vitest";
import { dropped } from "../src/lib/upload/walk";

afterEach(() => vi.unstubAllGlobals());

const lake = new File(["lake"], "lake.png");
const note = new File(["note"], "note.txt");

/** A dropped file, and a dropped folder "trip" with note.txt and an empty folder "later". */
function drop(item: object = {}, folder: object = {}): DataTransfer {
  const children = [
    [
      { name: "note.txt", isFile: true, file: (done: (file: File) => void) => done(note) },
      { name: "later", createReader: () => ({ readEntries: (done: (all: object[]) => void) => done([]) }) },
    ],
    [],
  ];
  const trip = {
    name: "trip",
    isDirectory: true,
    createReader: () => ({ readEntries: (done: (all: object[]) => void) => done(children.shift()!) }),
  };
  return {
    items: [
      { kind: "string" },
      { kind: "file", webkitGetAsEntry: () => ({ name: lake.name, isFile: true }), getAsFile: () => lake, ...item },
      { kind: "file", webkitGetAsEntry: () => trip, getAsFile: () => null, ...folder },
    ],
  } as unknown as DataTransfer;
}

test("a dropped file is there at once, the content of a folder later", async () => {
  vi.stubGlobal("isSecureContext", false);
  const { files, below } = dropped(drop());
  expect(files).toEqual([{ file: lake, relPath: "lake.png" }]);
  expect(await below).toEqual({ files: [{ file: note, relPath: "trip/note.txt" }], folders: ["trip/later"] });
});

test("a dropped file does not wait for its handle", async () => {
  vi.stubGlobal("isSecureContext", true);
  const handle = { kind: "file", name: "lake.png" };
  const inner = { kind: "file", name: "note.txt", getFile: () => Promise.resolve(note) };
  const trip = { kind: "directory", name: "trip", values: () => [inner] };
  const { files, below } = dropped(
    drop(
      { getAsFileSystemHandle: () => Promise.resolve(handle) },
      { getAsFileSystemHandle: () => Promise.resolve(trip) },
    ),
  );
  expect(files).toMatchObject([{ file: lake, relPath: "lake.png" }]);
  expect(await files[0]!.lateHandle).toBe(handle);
  expect(await below).toEqual({ files: [{ file: note, relPath: "trip/note.txt", handle: inner }], folders: [] });
});

test("a dropped file and a folder without a handle are there nevertheless", async () => {
  vi.stubGlobal("isSecureContext", true);
  const refuses = { getAsFileSystemHandle: () => Promise.reject(new Error("denied")) };
  const { files, below } = dropped(drop(refuses, refuses));
  expect(await files[0]!.lateHandle).toBeNull();
  expect((await below).files).toEqual([{ file: note, relPath: "trip/note.txt" }]);
});
