/**
 * Menu items for the selection and the folder. They repeat the actions of buttons and keys, and
 * name the keys.
 */
import arrowDownToLine from "lucide:arrow-down-to-line";
import arrowUpToLine from "lucide:arrow-up-to-line";
import camera from "lucide:camera";
import clipboardPaste from "lucide:clipboard-paste";
import copyShape from "lucide:copy";
import download from "lucide:download";
import folderShape from "lucide:folder";
import folderInput from "lucide:folder-input";
import folderOpen from "lucide:folder-open";
import folderPlus from "lucide:folder-plus";
import folderUp from "lucide:folder-up";
import history from "lucide:history";
import info from "lucide:info";
import link from "lucide:link";
import lock from "lucide:lock";
import palette from "lucide:palette";
import pencil from "lucide:pencil";
import scissors from "lucide:scissors";
import share from "lucide:share-2";
import shield from "lucide:shield-check";
import squareCheck from "lucide:square-check";
import starShape from "lucide:star";
import trash2 from "lucide:trash-2";
import upload from "lucide:upload";
import { may, pathOf } from "../../lib/entry";
import { t } from "../../lib/i18n.svelte";
import { address, go } from "../../lib/router.svelte";
import { explanationOf } from "../../lib/explained.svelte";
import { session } from "../../lib/session.svelte";
import type { Sort } from "../../lib/source/source";
import type { MenuItem } from "../../lib/ui/menu";
import { views } from "../../lib/views.svelte";
import type { Browser } from "./browser.svelte";
import { cut } from "./cut.svelte";
import { cutChosen, paste, rename } from "./keys";
import { pickUploads } from "./uploading";

const sorts: Sort[] = ["name", "time", "size", "manual"];

/** The uploads beside that of files: of a folder, and on phones and tablets of a photo. */
export function otherUploads(browser: Browser): MenuItem[] {
  const items: MenuItem[] = [
    { label: t.files.uploadFolder, icon: folderUp, run: () => pickUploads(browser.uploads, { folder: true }) },
  ];
  if (matchMedia("(pointer: coarse)").matches)
    items.push({ label: t.files.takePhoto, icon: camera, run: () => pickUploads(browser.uploads, { camera: true }) });
  return items;
}

/** Actions that add entries to the folder. */
export function makingItems(browser: Browser): MenuItem[] {
  const { uploads } = browser;
  if (uploads === "" || browser.searching) return [];
  const items: MenuItem[] = [
    { label: t.files.upload, icon: upload, shortcut: "Alt+U", run: () => pickUploads(uploads, { folder: false }) },
    ...otherUploads(browser),
  ];
  if (!browser.writable) return items;
  items.push({ label: t.files.newFolder, icon: folderPlus, shortcut: "Alt+N", run: () => (browser.creating = true) });
  const count = cut.into(browser.path);
  if (count > 0)
    items.push({
      label: t.files.moveHere(count),
      icon: clipboardPaste,
      shortcut: "Ctrl+V",
      run: () => paste(browser),
    });
  return items;
}

/** The view of the folder. */
export function displayItems(browser: Browser): MenuItem[] {
  const { sort: canSort } = browser.source.can;
  const order: MenuItem[] = [
    ...sorts.map((sort) => ({
      label: t.files.sorts[sort],
      checked: browser.sort === sort,
      run: () => browser.show({ sort, order: sort === "time" || sort === "size" ? "desc" : "asc" }),
    })),
    "-",
    ...(["asc", "desc"] as const).map((order) => ({
      label: t.files.orders[order],
      checked: browser.order === order,
      run: () => browser.show({ sort: browser.sort, order }),
    })),
    "-",
  ];
  const gallery = browser.collection?.gallery !== undefined;
  const { shape } = browser;
  const list = { label: t.files.list, checked: shape === "list", run: () => browser.show({ shape: "list" }) };
  return [
    ...(canSort ? order : []),
    ...(gallery ? [] : [list]),
    ...(["s", "m", "l"] as const).map((tile) => ({
      label: t.files.tiles[tile],
      checked: (gallery || shape === "grid") && browser.view.tile === tile,
      run: () => browser.show({ shape: "grid", tile }),
    })),
  ];
}

/** Actions on the folder as a whole. */
export function wholeItems(browser: Browser): MenuItem[] {
  const { listing, selection } = browser;
  const { folder } = listing;
  const all: MenuItem = {
    label: t.files.chooseAll,
    icon: squareCheck,
    shortcut: "Ctrl+A",
    disabled: listing.total === 0,
    run: () => selection.all(listing.total),
  };
  if (browser.collection) return [all];
  const refused = folder && browser.uploads === "" && explanationOf(browser.path, "write", true);
  return [
    all,
    {
      label: t.files.folderDetails,
      icon: info,
      disabled: !folder,
      run() {
        selection.none();
        browser.details = true;
      },
    },
    ...(refused ? [{ label: refused.why, icon: shield, run: () => go(refused.address) }] : []),
    ...(folder && session.me?.trashDays
      ? [
          {
            label: t.files.earlier,
            icon: history,
            run: () => go(`/app/past?path=${encodeURIComponent(browser.path)}`),
          },
        ]
      : []),
    ...(folder
      ? [
          {
            label: t.files.shareFolder,
            icon: share,
            disabled: !may(folder, "share"),
            run: () => void browser.openPanel("share", [folder]),
          },
        ]
      : []),
  ];
}

/** Settings for all folders. */
export function usualItems(browser: Browser): MenuItem[] {
  const folders: MenuItem[] = [
    { label: t.files.singleClick, checked: views.single, run: () => (views.single = !views.single) },
    { label: t.files.useEverywhere, run: () => views.useEverywhere(browser.path) },
  ];
  return [
    ...(browser.collection?.gallery ? [] : folders),
    { label: t.files.shortcuts, shortcut: "?", run: () => void browser.openPanel("shortcuts") },
  ];
}

/** The context menu of the folder. */
export function folderItems(browser: Browser): MenuItem[] {
  const making = makingItems(browser);
  return [
    ...making,
    ...(making.length > 0 ? (["-"] as const) : []),
    ...wholeItems(browser),
    "-",
    ...displayItems(browser),
  ];
}

/** The context menu of the selection. */
export function itemsOf(browser: Browser): MenuItem[] {
  const { selection, sample } = browser;
  const one = selection.count === 1 ? sample[0] : undefined;
  const why = one && explanationOf(pathOf(one), "read");
  const open = (panel: Parameters<Browser["openPanel"]>[0]) => () => void browser.openPanel(panel);
  const seen: MenuItem[] = [];
  if (one)
    seen.push({ label: t.files.open, icon: folderOpen, shortcut: "Enter", run: () => browser.open(selection.active) });
  if (one && browser.scattered)
    seen.push({ label: t.files.showInFolder, icon: folderShape, run: () => go(address("/app/files", one.path)) });
  seen.push({
    label: t.common.download,
    icon: download,
    shortcut: "Ctrl+S",
    disabled: !browser.may("download"),
    run: () => void browser.download(),
  });

  const changed: MenuItem[] = [];
  if (one) {
    const update = !browser.may("update");
    changed.push(
      { label: t.files.rename, icon: pencil, shortcut: "F2", disabled: update, run: () => rename(browser) },
      { label: t.files.appearance, icon: palette, disabled: update, run: open("appearance") },
      { label: t.files.password, icon: lock, disabled: update, run: open("password") },
    );
  }
  const deletes = !browser.may("delete");
  changed.push(
    { label: t.files.cut, icon: scissors, shortcut: "Ctrl+X", disabled: deletes, run: () => void cutChosen(browser) },
    { label: t.files.moveTo, icon: folderInput, disabled: deletes, run: open("move") },
    { label: t.files.copyTo, icon: copyShape, disabled: !browser.may("download"), run: open("copy") },
  );
  if (one && browser.byHand) {
    const at = selection.active;
    changed.push(
      "-",
      { label: t.files.toTop, icon: arrowUpToLine, run: () => void browser.reorder(at, 0) },
      { label: t.files.toBottom, icon: arrowDownToLine, run: () => void browser.reorder(at, browser.listing.total) },
    );
  }
  return [
    ...seen,
    { label: t.files.copyLink, icon: link, shortcut: "Ctrl+C", run: () => void browser.copyLinks() },
    { label: t.files.links, icon: link, run: open("links") },
    {
      label: sample.every((entry) => entry.favourite) ? t.files.unstar : t.files.star,
      icon: starShape,
      shortcut: "Alt+S",
      run: () => void browser.star(),
    },
    ...(one ? [{ label: t.files.share, icon: share, disabled: !browser.may("share"), run: open("share") }] : []),
    ...(one ? [{ label: t.files.details, icon: info, shortcut: "Alt+I", run: () => (browser.details = true) }] : []),
    ...(why ? [{ label: why.label, icon: shield, run: () => go(why.address) }] : []),
    "-",
    ...changed,
    "-",
    {
      label: t.files.delete,
      icon: trash2,
      shortcut: "Delete",
      danger: true,
      disabled: deletes,
      run: () => void browser.remove(),
    },
    ...(session.me?.trashDays
      ? [
          {
            label: t.files.deleteForGood,
            icon: trash2,
            shortcut: "Shift+Delete",
            danger: true,
            disabled: deletes,
            run: open("delete"),
          },
        ]
      : []),
  ];
}
