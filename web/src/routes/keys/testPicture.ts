/** Uploads a small picture as an image client would: with the key alone. */
import { failure, Failure, type Schemas } from "../../lib/api";
import type { FreshKey } from "../../lib/clients/key";

export interface Sent {
  /** Path of the file. */
  path: string;
  /** Address of the picture on this site. */
  src: string;
  ms: number;
  /** The time of the answer by the server's clock, in ms. */
  at: number;
}

/** Uploads the picture. Throws Failure. */
export async function sendTestPicture(key: FreshKey, caption: string): Promise<Sent> {
  const form = new FormData();
  form.append("file", await draw(caption), `larder-test-${Date.now()}.png`);
  const begun = performance.now();
  let answer: Response;
  try {
    answer = await fetch("/api/upload", {
      method: "POST",
      body: form,
      credentials: "omit",
      headers: { Authorization: `Bearer ${key.token}` },
    });
  } catch (cause) {
    throw new Failure("NETWORK", String(cause));
  }
  const ms = performance.now() - begun;
  const body = (await answer.json().catch(() => undefined)) as
    { data?: Schemas["ApiCompatibleUploadReply"]; timestamp: number } | undefined;
  if (!answer.ok || !body?.data) throw failure(body, answer.status, answer.headers);
  const { path, filename, links } = body.data;
  const to = new URL(links.url);
  return { path: `${path === "/" ? "" : path}/${filename}`, src: to.pathname + to.search, ms, at: body.timestamp };
}

/** Draws a picture that users recognize as a test, in the accent colour. */
function draw(caption: string): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = 320;
  canvas.height = 180;
  const context = canvas.getContext("2d")!;
  context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent") || "#3b6cf6";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#ffffff33";
  for (const [x, y, radius] of [
    [260, 40, 90],
    [60, 170, 70],
  ] as const) {
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }
  context.fillStyle = "#ffffff";
  context.textAlign = "center";
  context.font = "600 28px system-ui, sans-serif";
  context.fillText("Larder", 160, 90);
  context.font = "14px system-ui, sans-serif";
  context.fillText(caption, 160, 118);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
  );
}
