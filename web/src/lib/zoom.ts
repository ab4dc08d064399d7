/**
 * Zoom and position of a picture. Lengths are CSS pixels; points are relative to the centre of the
 * stage.
 */

export interface View {
  /** 1 is the fitted size. */
  scale: number;
  x: number;
  y: number;
}

export interface Extent {
  width: number;
  height: number;
}

export const fitted: View = { scale: 1, x: 0, y: 0 };
const most = 16;

/**
 * The size at which the whole picture fits the stage. A small picture is not enlarged, unless a
 * larger original exists (`more`).
 */
export function fit(picture: Extent, stage: Extent, more: boolean): Extent {
  const room = Math.min(stage.width / picture.width, stage.height / picture.height);
  const scale = more ? room : Math.min(1, room);
  return { width: picture.width * scale, height: picture.height * scale };
}

/** Reports whether two sizes are those of one picture, apart from its scale. */
export function alike(a: Extent, b: Extent): boolean {
  const ratio = a.width / a.height;
  // each edge of a scaled picture is rounded
  return Math.min(Math.abs(b.width - b.height * ratio), Math.abs(b.height - b.width / ratio)) <= 2;
}

/** The view at another scale, with the point `at` fixed. */
export function zoomTo(view: View, scale: number, at: { x: number; y: number }, box: Extent, stage: Extent): View {
  const to = Math.min(Math.max(scale, 1), Math.max(most, view.scale));
  const by = to / view.scale;
  return within({ scale: to, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by }, box, stage);
}

/** The view, moved so that no more space than necessary is beside the picture. */
export function within(view: View, box: Extent, stage: Extent): View {
  const room = (picture: number, all: number) => Math.max(0, (picture * view.scale - all) / 2);
  const clamp = (value: number, limit: number) => Math.min(limit, Math.max(-limit, value));
  return {
    scale: view.scale,
    x: clamp(view.x, room(box.width, stage.width)),
    y: clamp(view.y, room(box.height, stage.height)),
  };
}
