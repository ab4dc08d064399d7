/** Storages and mounts of the administration: vendors, CORS rules, and which mount wins. */
import { expect, test } from "vitest";
import { coveredThrough, losing, standings, tidyPath, type Mount } from "../src/routes/admin/mounts/overlaps";
import { corsRules } from "../src/routes/admin/storage/cors";
import { placeOf } from "../src/routes/admin/storage/provider";
import { followRegion, presets, vendorOf, vendors } from "../src/lib/vendors";

test("a stored storage is recognized by the endpoint of its vendor", () => {
  for (const vendor of vendors) {
    const { type, endpoint } = presets[vendor];
    const stored = { type, endpoint: endpoint.replace("REGION", "eu-central-2").replace("ACCOUNT", "0123abcd.eu") };
    expect(vendorOf(stored), vendor).toBe(endpoint || vendor === "disk" ? vendor : "other");
  }
  expect(vendorOf({ type: "store_b", endpoint: "https://s3.eu.amazonaws.com.example.org" })).toBe("other");
});

test("the endpoint follows the region until it is entered by hand", () => {
  expect(followRegion("aws", "https://s3.us-east-1.amazonaws.com", "us-east-1", "eu-west-3")).toBe(
    "https://s3.eu-west-3.amazonaws.com",
  );
  expect(followRegion("aws", "https://s3.REGION.amazonaws.com", "", "eu-west-3")).toBe(
    "https://s3.eu-west-3.amazonaws.com",
  );
  expect(followRegion("aws", "https://vpce-1.s3.amazonaws.com", "us-east-1", "eu-west-3")).toBe(
    "https://vpce-1.s3.amazonaws.com",
  );
  expect(followRegion("minio", "https://minio.example.org", "", "eu")).toBe("https://minio.example.org");
});

test("a storage is named by host, bucket and prefix", () => {
  const stored = { type: "store_b", endpoint: "https://s3.example.org", bucket: "photos", pathPrefix: "a/b" };
  expect(placeOf(stored as never)).toBe("s3.example.org/photos/a/b");
  expect(placeOf({ ...stored, type: "store_a", endpoint: "", pathPrefix: "" } as never)).toBe("photos");
});

test("the rules allow the origin, and expose the ETag, in each form", () => {
  const origin = "https://files.example.org";
  const rule = {
    AllowedOrigins: [origin],
    AllowedMethods: ["GET", "HEAD", "PUT"],
    AllowedHeaders: ["*"],
    ExposeHeaders: ["ETag"],
    MaxAgeSeconds: 3600,
  };
  expect(JSON.parse(corsRules(origin, "list"))).toEqual([rule]);
  expect(JSON.parse(corsRules(origin, "cli"))).toEqual({ CORSRules: [rule] });
  expect(corsRules(origin, "xml")).toContain(`<AllowedOrigin>${origin}</AllowedOrigin>`);
  expect(corsRules(origin, "xml")).toContain("<ExposeHeader>ETag</ExposeHeader>");
});

const mount = (id: string, mountPath: string, priority = 0, createdAt = 0) => ({ id, mountPath, priority, createdAt });
const shown = (...mounts: ReturnType<typeof mount>[]) =>
  standings(mounts).map(({ mount: { id }, level, coveredBy, winsOver }) =>
    [
      id,
      level,
      coveredBy && `< ${coveredBy.mount.id} ${coveredBy.why}`,
      winsOver && `> ${winsOver.mount.id} ${winsOver.why}`,
    ]
      .filter((part) => part !== undefined)
      .join(" "),
  );

test("mounts are a tree of paths, and a longer path wins", () => {
  expect(shown(mount("ab", "/a/b"), mount("a-", "/a-b"), mount("a", "/a"), mount("root", "/"))).toEqual([
    "root 0",
    "a 1 > root longer",
    "ab 2 > a longer",
    "a- 1 > root longer",
  ]);
});

test("a higher priority wins over a longer path, and the older of two equals", () => {
  expect(shown(mount("root", "/", 5), mount("a", "/a"))).toEqual(["root 0", "a 1 < root priority"]);
  expect(shown(mount("root", "/"), mount("a", "/a", 5))).toEqual(["root 0", "a 1 > root priority"]);
  expect(shown(mount("new", "/a", 0, 2), mount("old", "/a", 0, 1))).toEqual(["old 0 > new older", "new 0 < old older"]);
  expect(shown(mount("low", "/a", 1, 1), mount("high", "/a", 2, 2))).toEqual([
    "high 0 > low priority",
    "low 0 < high priority",
  ]);
});

test("a mount says which others it would cover", () => {
  const others = [mount("root", "/"), mount("a", "/a"), mount("ab", "/a/b")];
  expect(coveredThrough(mount("new", "/a", 1), others).map(({ id }) => id)).toEqual(["a", "ab"]);
  expect(coveredThrough(mount("new", "/a", 0, 9), others)).toEqual([]);
});

test("a path is tidied as the server does it", () => {
  expect([" photos ", "/a//b/", "./a", "", "/"].map(tidyPath)).toEqual(["/photos", "/a/b", "/a", "/", "/"]);
});

test.each<[string, ReturnType<typeof mount>, string[]]>([
  ["a new mount beside others", mount("new", "/c"), []],
  ["a new mount that covers one", mount("new", "/a", 5), ["a"]],
  ["a mount whose order changes", mount("a", "/a", 1), []],
  ["a mount that moves", mount("a", "/c"), ["a"]],
  ["a mount that is covered from now on", mount("a", "/a", -1), ["a"]],
  ["a mount that covers others from now on", mount("root", "/", 9), ["a"]],
  ["a mount that is covered already", mount("hidden", "/elsewhere"), []],
])("%s may take access to certain mounts", (_, planned, lost) => {
  const all = [mount("root", "/"), mount("a", "/a"), { ...mount("hidden", "/b", -1), hidden: true }];
  expect(losing(all.map((one) => ({ hidden: false, ...one })) as Mount[], planned).map(({ id }) => id)).toEqual(lost);
});
