/** The arithmetic of looking at a picture: how large it is, and where. Lengths are CSS pixels, points are seen from the middle of the stage. */

export interface View {
  /** 1 is the picture as it fits. */
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

/** How large a picture is shown so that all of it is seen. One that is small stays as it is, unless there is more of it than is loaded. */
export function fit(picture: Extent, stage: Extent, more: boolean): Extent {
  const room = Math.min(stage.width / picture.width, stage.height / picture.height);
  const scale = more ? room : Math.min(1, room);
  return { width: picture.width * scale, height: picture.height * scale };
}

/** The view at another scale, with what is at a point staying there. */
export function zoomTo(view: View, scale: number, at: { x: number; y: number }, box: Extent, stage: Extent): View {
  const to = Math.min(Math.max(scale, 1), Math.max(most, view.scale));
  const by = to / view.scale;
  return within({ scale: to, x: at.x - (at.x - view.x) * by, y: at.y - (at.y - view.y) * by }, box, stage);
}

/** The view with no more beside the picture than there has to be. */
export function within(view: View, box: Extent, stage: Extent): View {
  const room = (picture: number, all: number) => Math.max(0, (picture * view.scale - all) / 2);
  const clamp = (value: number, limit: number) => Math.min(limit, Math.max(-limit, value));
  return {
    scale: view.scale,
    x: clamp(view.x, room(box.width, stage.width)),
    y: clamp(view.y, room(box.height, stage.height)),
  };
}
