// Menus on phones, by touch: sheets at the lower edge, above everything else.
import { bothPhones } from './forms.mjs'
import { createFolder, enter } from './files.mjs'
import { becomes, drawn, equal, inspect, sizes } from './harness.mjs'
import { labels } from './labels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'

const files = [
  ...Array.from({ length: 24 }, (_, n) => ({
    name: `lake ${String(n + 1).padStart(2, '0')}.png`,
    bytes: png(480, 320, n / 24).toString('base64'),
  })),
  { name: 'a note.txt', bytes: btoa('a few words') },
]

async function openFolder(page, config, name) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, name, files)
  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^lake 01\.png/ }).waitFor()
}

const box = (locator) => locator.evaluate((element) => element.getBoundingClientRect().toJSON())
const sheet = (page) => page.getByRole('menu').locator('.items')
const titleOf = (page) => page.getByRole('menu').evaluate((menu) => getComputedStyle(menu, '::before').content)
const scrolled = (page) => page.evaluate(() => scrollY)
const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('aria-label'))

// finger returns a function that sends the events of a finger at a point.
async function finger(page) {
  const client = await page.context().newCDPSession(page)
  return (type, x, y) =>
    client.send('Input.dispatchTouchEvent', { type, touchPoints: type === 'touchEnd' ? [] : [{ x, y }] })
}

// drag moves a finger up, from a point.
async function drag(page, { x, y }, by) {
  const touch = await finger(page)
  await touch('touchStart', x, y)
  for (let moved = 0; moved <= by; moved += 10) await touch('touchMove', x, y - moved)
  await touch('touchEnd')
}

// hold presses an element with a finger until another element is visible.
async function hold(page, element, until) {
  const { x, y, width, height } = await box(element)
  const touch = await finger(page)
  await touch('touchStart', x + width / 2, y + height / 2)
  await until.waitFor()
  await touch('touchEnd')
}

// looksRight checks the place, the size, the title and the rows of the open sheet, also by axe.
async function looksRight(page, config, title) {
  const { width, height } = page.viewportSize()
  const { left, right, top, bottom } = await box(sheet(page))
  equal('the edges of the sheet', [left, right, bottom], [0, width, height])
  equal('whether it is higher than 80 % of the window', top - 44 < height * 0.2 - 1, false)
  equal('the title', await titleOf(page), `"${title}" / ""`)
  const rows = await page
    .getByRole('menu')
    .locator('.items button')
    .evaluateAll((all) => all.map((row) => row.offsetHeight))
  equal('the rows below 44 px', rows.length > 0 && rows.filter((row) => row < 44), [])
  equal('faults', [...(await inspect(page)), ...(await cramped(page, config))], [])
}

// covers reports whether the open sheet or its scrim is above the middle of a box.
const covers = (page, { x, y, width, height }) =>
  page.evaluate(
    ([x, y]) => document.elementFromPoint(x, y).closest('[role=menu]') !== null,
    [x + width / 2, y + height / 2],
  )

async function renames(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Sheets')
  const more = page.getByRole('button', { name: say.more, exact: true })
  await hold(page, page.getByRole('link', { name: /^a note\.txt/ }), more)
  equal('the open files', await page.getByRole('dialog').count(), 0)
  const bar = await box(more)
  await more.tap()
  await looksRight(page, config, 'a note.txt')
  equal('whether the sheet is above the bar of the selection', await covers(page, bar), true)
  await config.shot('sheet-file')
  await page.getByRole('menuitem', { name: say.rename }).tap()
  await page.getByLabel(say.newName).fill('another note.txt')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: /^another note\.txt/ }).waitFor()
  equal('the open menus', await page.getByRole('menu').count(), 0)

  await page.getByRole('button', { name: say.pages, exact: true }).tap()
  await looksRight(page, config, say.pages)
  await config.shot('sheet-pages')
}

async function closes(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Scrims')
  const button = page.getByRole('button', { name: say.display })
  const name = await button.getAttribute('aria-label')
  // the upper part of a tile, which the sheet leaves free
  const tile = { ...(await box(page.getByRole('gridcell', { name: /^lake 01\.png/ }))), height: 60 }
  const at = { x: tile.x + tile.width / 2, y: tile.y + tile.height / 2 }
  const still = async (what) => {
    await page.getByRole('menu').waitFor({ state: 'hidden' })
    equal(`the open menus and dialogs after ${what}`, await page.locator(':popover-open, dialog[open]').count(), 0)
    equal(`the selected entries after ${what}`, await page.getByRole('toolbar').count(), 0)
    await becomes(`the focus after ${what}`, () => focused(page), name)
  }

  await button.tap()
  await looksRight(page, config, name)
  await config.shot('sheet-display')
  equal('whether the scrim is above a file', await covers(page, tile), true)
  const first = await box(page.getByRole('menuitemradio').first())
  await page.touchscreen.tap(first.x + 20, first.y - 20) // the title
  equal('the open menus after a tap on the title', await page.locator('[role=menu]:popover-open').count(), 1)
  await page.touchscreen.tap(at.x, at.y)
  await still('a tap on the scrim')

  await button.tap()
  await page.getByRole('menuitemradio').first().waitFor()
  await drag(page, at, 100)
  await drawn(page)
  equal('how far the page is scrolled behind a sheet', await scrolled(page), 0)
  await page.keyboard.press('Escape')
  await still('Escape')

  const lake = page.getByRole('gridcell', { name: /^lake 01\.png/ })
  const room = () => lake.locator('.meta').evaluate((meta) => getComputedStyle(meta).paddingInlineEnd)
  const before = await room()
  await lake.locator('[data-more]').tap()
  await page.getByRole('menuitem').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'hidden' })
  await becomes('whether the focus is in the tile', () => lake.evaluate((it) => it.matches(':focus-within')), true)
  equal('the space that the size of the file leaves to buttons', await room(), before)
  await becomes('the selected entries after the menu of a tile', () => page.getByRole('toolbar').count(), 0)

  await page.setViewportSize(sizes.small)
  await button.tap()
  await looksRight(page, config, name)
  const last = page.getByRole('menuitem').last()
  equal('whether the last row is below the window', (await box(last)).top > sizes.small.height, true)
  for (const _ of [1, 2]) await drag(page, { x: 160, y: 600 }, 400)
  await becomes(
    'whether the last row is in the window',
    async () => (await box(last)).bottom <= sizes.small.height,
    true,
  )
  equal('how far the page is scrolled', await scrolled(page), 0)
  await last.tap()
  await page.getByRole('dialog', { name: say.shortcuts }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await drag(page, at, 100)
  await becomes('whether the page scrolls without a sheet', async () => (await scrolled(page)) > 0, true)
}

// The sheet appears without a transition if the user reduces motion. In the window of a desktop the
// menu is at its button, without a title.
async function moves(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Motion')
  const button = page.getByRole('button', { name: say.display })
  const menu = page.getByRole('menu')
  const duration = () => menu.evaluate((it) => getComputedStyle(it).transitionDuration)
  await button.tap()
  equal('the duration with reduced motion', await duration(), '0s')
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  equal('the duration', await duration(), '0.2s')
  await page.keyboard.press('Escape')

  await page.setViewportSize(sizes.desk)
  await button.tap()
  const [from, to] = [await box(button), await box(menu)]
  equal('the distance of the menu from its button', Math.round(to.top - from.bottom), 4)
  equal('whether it is narrow', to.width <= 320, true)
  equal('the title', await titleOf(page), 'none')
}

export const scenarios = [
  { name: 'a finger renames a file by its sheet', forms: bothPhones, run: renames },
  { name: 'a sheet closes and nothing below it acts', forms: bothPhones, run: closes },
  { name: 'a menu is a sheet on phones alone', forms: bothPhones, run: moves },
]
