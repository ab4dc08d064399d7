// Windows between a phone and a desktop: the controls of the toolbar keep apart, names stay
// readable, and the details leave the toolbar free.
import { createFolder, enter } from './files.mjs'
import { bothLanguages } from './forms.mjs'
import { drawn, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { folders } from './places.mjs'

const widths = [820, 1024, 1100, 1280, 2560]
const leastName = 160 // px
const widthOfRail = 64 // px

// The columns of a list by the width of a window, in px: the type leaves first, then the time.
const columns = {
  1100: ['name', 'size', 'kind', 'time'],
  1024: ['name', 'size', 'kind', 'time'],
  820: ['name', 'size', 'kind', 'time'],
  760: ['name', 'size', 'time'],
  650: ['name', 'size'],
}

// shownColumns returns the columns of a list that are shown, from left to right.
const shownColumns = (page) =>
  page
    .getByRole('columnheader')
    .evaluateAll((all) =>
      ['name', 'size', 'kind', 'time'].filter((name) =>
        all.some((one) => one.classList.contains(name) && one.checkVisibility()),
      ),
    )

// crowded returns controls of the toolbar that touch each other, lie outside of the window or under
// something else, names that are too short, and a page that scrolls sideways.
const crowded = (page, leastName) =>
  page.evaluate((leastName) => {
    const found = []
    const named = (element) => element.getAttribute('aria-label') ?? element.textContent.trim().slice(0, 40)
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth
    if (wide > 0) found.push(`the page scrolls sideways by ${wide} px`)
    const controls = [...document.querySelectorAll('main header :is(a, button, input, p)')].filter(
      (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0,
    )
    const boxes = controls.map((element) => element.getBoundingClientRect())
    for (const [n, one] of boxes.entries()) {
      if (one.left < 0 || one.right > document.documentElement.clientWidth)
        found.push(`${named(controls[n])} is cut off`)
      const hit = document.elementFromPoint(one.left + one.width / 2, one.top + one.height / 2)
      if (!controls[n].contains(hit) && !hit?.contains(controls[n]))
        found.push(`${named(controls[n])} is under ${hit && named(hit)}`)
      for (const [m, other] of boxes.entries())
        if (
          m > n &&
          !controls[n].matches('input') &&
          one.left < other.right - 1 &&
          other.left < one.right - 1 &&
          one.top < other.bottom - 1 &&
          other.top < one.bottom - 1
        )
          found.push(`${named(controls[n])} touches ${named(controls[m])}`)
    }
    for (const link of document.querySelectorAll('[role=grid] [data-index] a')) {
      const { width } = link.getBoundingClientRect()
      if (width < leastName) found.push(`the name ${named(link)} has ${Math.round(width)} px`)
    }
    return found
  }, leastName)

// lines returns the centres of the controls of the toolbar, in whole pixels from the upper edge.
const lines = (page) =>
  page.locator('main header :is(a, button, input)').evaluateAll((all) =>
    all
      .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 0)
      .map((one) => one.getBoundingClientRect())
      .map(({ top, height }) => Math.round(top + height / 2)),
  )

// cutSteps returns the folders of the path whose names are cut.
const cutSteps = (page, say) =>
  page
    .getByRole('navigation', { name: say.path, exact: true })
    .locator('a, h1')
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent))

async function fits(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const long = 'the lake in the early morning before the rain came'
  const files = ['one', 'two', 'three'].map((word) => ({ name: `${long} ${word}.txt`, bytes: btoa('words') }))
  const folder = await createFolder(page, config, 'Widths', files)
  await folders(
    page,
    folder,
    ['four', 'five', 'six', 'seven'].map((word) => `${long} ${word}`),
  )
  const found = []
  for (const shape of ['grid', 'list']) {
    await page.goto(`/app/files${folder}`)
    const view = { grid: say.mediumTiles, list: say.list }[shape]
    await page.getByRole('button', { name: say.display }).click()
    await page.getByRole('menuitemradio', { name: view, exact: true }).click()
    await page.getByRole('link', { name: `${long} one.txt` }).click()
    for (const open of [false, true]) {
      if (open) {
        await page.keyboard.press('Alt+i')
        await page.getByRole('complementary', { name: say.details }).waitFor()
      }
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 })
        await drawn(page)
        for (const fault of await crowded(page, leastName))
          found.push(`${shape}, ${width} px, details ${open ? 'open' : 'closed'}: ${fault}`)
        await config.shot(`width-${width}-${shape}-${open ? 'open' : 'closed'}`)
      }
    }
  }
  equal('what does not fit', found, [])

  await page.keyboard.press('Alt+i')
  await page.getByRole('complementary', { name: say.details }).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape') // the selection has a bar of its own
  const keys = page.getByRole('navigation', { name: say.nav }).getByRole('link', { name: say.keys })
  for (const width of [1024, 1050, 1090, 1100, 1280, 1300]) {
    await page.setViewportSize({ width, height: 900 })
    await drawn(page)
    equal(`the names in the path that are cut at ${width} px`, await cutSteps(page, say), [])
  }
  for (const [width, shown] of Object.entries(columns)) {
    await page.setViewportSize({ width: Number(width), height: 900 })
    await drawn(page)
    equal(`the columns at ${width} px`, await shownColumns(page), shown)
    const { x, width: room } = await page.getByRole('navigation', { name: say.nav }).boundingBox()
    equal(`the left edge and the width of the rail at ${width} px`, [x, room], [0, widthOfRail])
    const link = await keys.boundingBox()
    equal(`whether its links are within it at ${width} px`, link.x >= 0 && link.x + link.width <= widthOfRail, true)
  }
  for (const width of [1440, 2560]) {
    await page.setViewportSize({ width, height: 900 })
    await drawn(page)
    const centres = await lines(page)
    equal(
      `whether the toolbar is one row at ${width} px`,
      centres.length > 5 && Math.max(...centres) - Math.min(...centres) <= 1,
      true,
    )
  }

  await page.setViewportSize({ width: widths[0], height: 900 })
  equal('faults of a narrow window', await inspect(page), [])
  const word = keys.getByText(say.keys)
  const opacity = () => word.evaluate((element) => getComputedStyle(element).opacity)
  equal('whether words are shown beside the icons', await opacity(), '0')
  await keys.hover()
  await until('the word of an icon', async () => (await opacity()) === '1')
  await config.shot('width-rail')
}

export const scenarios = [{ name: 'fits between phone and desk', forms: bothLanguages, run: fits }]
