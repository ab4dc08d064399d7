// Layout: aligned lines, no overlaps, and lengths that fit.
import { createFolder, enter } from './files.mjs'
import { becomes, equal, languages } from './harness.mjs'
import { labels } from './labels.mjs'
import { look } from './stranger.mjs'

const forms = () => ['desk', 'phone'].map((size) => ({ language: 'en-US', theme: 'light', size }))

const box = (locator) => locator.evaluate((element) => element.getBoundingClientRect().toJSON())
const boxes = (locator) => locator.evaluateAll((all) => all.map((element) => element.getBoundingClientRect().toJSON()))

// level reports whether boxes are on one line, by their centres.
const level = (all) =>
  Math.max(...all.map((one) => one.y + one.height / 2)) - Math.min(...all.map((one) => one.y + one.height / 2)) <= 2

async function stands(page, config) {
  const say = labels[config.language]
  const phone = config.size === 'phone'
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Lines', [{ name: 'notes.txt', bytes: btoa('a few words') }])
  await page.goto(`/app/files${folder}`)
  const entry = page.getByRole('gridcell', { name: /^notes\.txt/ })
  await entry.waitFor()
  const fromMenu = async (action) => {
    await entry.locator('[data-more]').click({ force: true })
    await page.getByRole('menuitem', { name: action }).click()
  }

  if (phone) await page.getByRole('button', { name: say.add, exact: true }).click()
  await page.getByRole(phone ? 'menuitem' : 'button', { name: say.newFolder }).click()
  const form = page.locator('form').filter({ has: page.getByLabel(say.folderName) })
  equal(
    'whether the form of a new folder is one line',
    level([await box(form.getByRole('textbox')), ...(await boxes(form.getByRole('button')))]),
    true,
  )
  await page.keyboard.press('Escape')

  await fromMenu(say.rename)
  const field = await box(page.getByRole('textbox', { name: say.newName }))
  const covered = (await boxes(entry.locator('.meta:visible, [data-more]'))).filter(
    (one) => one.height > 0 && one.bottom > field.top && one.top < field.bottom,
  )
  equal('what the field of a name covers by half', covered.length, 0)
  await page.keyboard.press('Escape')

  await page.getByRole('button', { name: say.display }).click()
  const words = await boxes(page.getByRole('menu').locator('button > span:not(.check)'))
  equal('where the words of the menu begin', new Set(words.map(({ x }) => Math.round(x))).size, 1)
  equal('how many of them take two lines', words.filter(({ height }) => height > 24).length, 0)
  await page.keyboard.press('Escape')

  await fromMenu(say.links)
  const panel = page.getByRole('dialog', { name: say.link, exact: true })
  await panel.getByRole('radio', { name: say.permanent }).check()
  await panel.getByRole('button', { name: say.makePermanent }).click()
  await panel.getByRole('button', { name: say.revoke }).waitFor()
  equal('whether the foot of the links is one line', level(await boxes(panel.locator('footer button'))), true)
  await page.keyboard.press('Escape')

  await fromMenu(say.details)
  const details = page.getByRole('complementary', { name: say.details })
  await details.getByText('11 B', { exact: true }).waitFor()
  await details.getByRole('button', { name: say.hideDetails }).click()
}

// At a depth of thirty folders, the name of the target can still be read.
async function goesDeep(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  let folder = `/home/${config.username}`
  for (let level = 1; level <= 30; level++)
    folder = await createFolder(
      page,
      config,
      `level ${level}`,
      level === 30 ? [{ name: 'deep.txt', bytes: btoa('x') }] : [],
      folder,
    )
  await page.goto(`/app/files${folder}`)
  await page
    .getByRole('gridcell', { name: /^deep\.txt/ })
    .locator('[data-more]')
    .click({ force: true })
  await page.getByRole('menuitem', { name: say.moveTo }).click()
  const dialog = page.getByRole('dialog', { name: say.moveTitle })
  const words = dialog.getByRole('treeitem', { name: 'level 30' }).getByText('level 30')
  await words.waitFor()
  const [name, sheet] = [await box(words), await box(dialog)]
  equal(
    'whether the name stands in the dialog',
    name.width >= 50 && name.left > sheet.left && name.right < sheet.right,
    true,
  )
}

// A long announcement is cut to three lines until the user expands it; the most severe one comes
// first.
async function announces(page, config) {
  const say = labels[config.language]
  const items = ['info', 'danger', 'warning'].map((level) => ({
    id: level,
    level,
    title: `A ${level}`,
    content: level === 'danger' ? 'Very many words. '.repeat(60) : 'Few words.',
  }))
  await page.route('**/api/public/announcements', (route) =>
    route.fulfill({ json: { success: true, data: { items }, timestamp: 1 } }),
  )
  await page.goto('/app/login')
  const all = page.getByRole('region', { name: say.announcements })
  await all.getByText('A info').waitFor()
  const [notices, card] = [await box(all.locator('> div').first()), await box(page.locator('.card'))]
  equal(
    'whether they are as wide as the card at least, and no line of them long',
    notices.width >= card.width && notices.width <= 640,
    true,
  )
  await enter(page, config, '')
  await all.getByText('A info').waitFor()
  await becomes('the order', () => all.locator('strong').allTextContents(), ['A danger', 'A warning', 'A info'])
  const text = all.locator('p').first()
  const unfold = all.getByRole('button', { name: say.showAll })
  await unfold.waitFor()
  await becomes('how many can be unfolded', () => unfold.count(), 1)
  equal('whether three lines are shown', (await box(text)).height <= 61, true)
  await unfold.click()
  equal('whether all of it is shown', (await box(text)).height > 61, true)
  await all.getByRole('button', { name: say.showLess }).click()
  equal('whether three lines are shown again', (await box(text)).height <= 61, true)
}

// The labels of the bar of phones have room, in each language.
async function bar(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const nav = page.getByRole('navigation', { name: say.nav, exact: true })
  const shown = nav.locator('.short:visible, .word:visible')
  const others = nav.getByRole('button', { name: say.pages, exact: true })
  equal('what the menu of the other pages shows', (await others.innerText()).trim(), say.pages)
  equal('the number of labels', await shown.count(), 4)
  await becomes('the marks of that menu', () => others.locator('.mark').count(), 1) // the site is not set up
  for (const width of [390, 360]) {
    await page.setViewportSize({ width, height: 800 })
    const cut = await shown.evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent),
    )
    equal(`labels that are cut off at ${width} px`, cut, [])
    const lines = (await boxes(shown)).sort((a, b) => a.x - b.x)
    const near = lines.slice(1).filter((one, n) => one.x < lines[n].x + lines[n].width + 2)
    equal(`labels that touch the one before at ${width} px`, near, [])
    await look(page, config, `bar-${width}`)
  }
}

// The icon of the page is part of it, so that only the picture beside the title requests its file.
// Playwright does not report requests of the browser itself, so the address of the icon is checked.
async function icon(page, config) {
  const asked = []
  page.on('request', (request) => asked.push(new URL(request.url())))
  await enter(page, config, '')
  await page.waitForLoadState('networkidle')
  const icons = await page.locator('link[rel=icon]').evaluateAll((all) => all.map((one) => one.href))
  equal('the number of icons', icons.length, 1)
  const loads = await page.evaluate(
    (src) =>
      new Promise((resolve) => {
        const image = new Image()
        image.onload = () => resolve(true)
        image.onerror = () => resolve(false)
        image.src = src
      }),
    icons[0],
  )
  equal('whether the icon is a picture', loads, true)
  const files = [...asked, new URL(icons[0])].filter((url) => /^http.*\/icon[^/]*\.svg$/.test(url.href))
  equal('the requests of the icon', files.length, 1)
}

export const scenarios = [
  {
    name: 'has room for each label of the bar',
    forms: () => languages.map((language) => ({ language, theme: 'light', size: 'phone' })),
    run: bar,
  },
  { name: 'requests the icon of the site once', forms: () => forms().slice(0, 1), run: icon },
  { name: 'keeps its lines straight', forms, run: stands },
  { name: 'shows how deep it goes', forms, run: goesDeep },
  { name: 'cuts long announcements', forms, run: announces },
]
