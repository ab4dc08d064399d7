// The screens of pictures, collections, searches, uploads and the viewer, in windows of several
// widths: nothing is cut off or covered, rows and pictures fill their room, and lines of text are
// not too long.
import { createFolder, enter } from './files.mjs'
import { bothLanguages, small } from './forms.mjs'
import { drawn, equal, give, inspect, isPhone, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { film } from './media.mjs'
import { cramped, enlarge } from './phone.mjs'
import { examined } from './photos.mjs'
import { png } from './pictures.mjs'

const texts = {
  'en-US': { favourite: 'Favorite' },
  'zh-CN': { favourite: '收藏' },
}

// The sizes of the pictures, by turns: a wide one, a tall one, a square and a panorama.
const shapes = [
  [480, 320],
  [320, 480],
  [400, 400],
  [900, 300],
]
const photographs = ['2025:07', '2025:06'].flatMap((month) =>
  Array.from({ length: 6 }, (_, nth) => {
    const [width, height] = shapes[nth % shapes.length]
    const day = String(27 - nth).padStart(2, '0')
    return { name: `lake ${month.slice(5)}-${day}.jpg`, width, height, taken: `${month}:${day} 12:00:00` }
  }),
)
const longName = 'the lake in the early morning before the rain came and the boats left 湖边清晨的照片 📷.jpg'
const words = 'A sentence about the lake and the boats that leave it in the early morning, before the rain comes. '
const base64 = (text) => Buffer.from(text).toString('base64')

// fill stores the files of all screens in an account and returns its folder.
async function fill(page, config) {
  const pictures = await config.ask('photographs', photographs)
  const folder = await createFolder(page, config, 'Lakes', [...pictures, { ...pictures[0], name: longName }])
  await examined(page)
  await createFolder(page, config, 'Lakes', [
    film, // after `examined`, which waits for proportions: a video never has any
    { name: 'notes.txt', bytes: base64(`${words.repeat(4)}\n\n`.repeat(30)) },
    { name: '报告.pdf', bytes: base64('no paper') },
  ])
  await createFolder(
    page,
    config,
    'Boats 小船',
    pictures.slice(0, 4).map((one, nth) => ({ ...one, name: `boat ${nth}.jpg` })),
    folder,
  )
  await createFolder(page, config, 'Harbours and everything that belongs to them', [], folder)
  return folder
}

const entry = (page, name) => page.getByRole('gridcell', { name: new RegExp(`^${name.replace('.', '\\.')}`) })

// loaded waits until the visible tiles have their pictures.
const loaded = (page, least) =>
  until('the pictures', () =>
    page
      .locator('[role=grid] img')
      .evaluateAll((all, least) => all.length >= least && all.every((one) => one.naturalWidth > 0), least),
  )

async function collections(page, say, folder, look) {
  await page.goto(`/app/files${folder}`)
  await entry(page, 'lake 07-27.jpg').waitFor()
  await loaded(page, 4)
  await entry(page, 'lake 07-27.jpg').hover()
  await look('folder')
  await entry(page, 'lake 07-27.jpg').click()
  await page.keyboard.press('Alt+KeyS')
  await entry(page, 'lake 07-27.jpg').getByRole('img', { name: say.favourite }).waitFor()

  await page.goto('/app/photos')
  await entry(page, 'lake 07-27.jpg').waitFor()
  await loaded(page, 6)
  await look('photos')
  await page.getByRole('rowheader').getByRole('checkbox').first().click()
  await page.getByRole('toolbar', { name: say.forChosen }).waitFor()
  await look('photos selected')

  for (const place of ['recent', 'favourites', 'shares']) {
    await page.goto(`/app/${place}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    if (place !== 'shares') await entry(page, 'lake 07-27.jpg').first().waitFor()
    await look(place)
  }

  await page.goto(`/app/files${folder}?search=lake&kind=image`)
  await entry(page, 'lake 07-27.jpg').first().waitFor()
  await loaded(page, 4)
  await look('results')
  await page.goto(`/app/files${folder}?search=lake&as=list`)
  await entry(page, 'lake 07-27.jpg')
    .or(page.getByRole('row', { name: /lake 07-27/ }))
    .first()
    .waitFor()
  await look('results as a list')
}

async function list(page, say, look) {
  const dialog = page.getByRole('dialog', { name: say.commands })
  await page.keyboard.press('Control+k')
  await dialog.getByRole('option').first().waitFor()
  await look('commands')
  await dialog.getByRole('combobox').fill('lake')
  await dialog
    .getByRole('option', { name: /^lake 0/ })
    .first()
    .waitFor()
  await look('commands found')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
}

async function viewer(page, say, folder, look) {
  const shown = page.getByRole('dialog')
  await page.goto(`/app/files${folder}`)
  await entry(page, 'lake 07-24.jpg').dblclick() // wider than narrow windows
  await until('the picture', () =>
    shown
      .locator('img.main')
      .first()
      .evaluate((one) => one.naturalWidth > 0),
  )
  await look('viewer')
  await page.keyboard.press('i')
  await shown.getByText('SHA-256', { exact: true }).waitFor()
  await look('viewer with details')
  await page.keyboard.press('i')
  await page.keyboard.press('s')
  await shown.locator('.frame').hover()
  await look('slideshow')
  await page.keyboard.press('s')
  await page.keyboard.press('Escape')
  await shown.waitFor({ state: 'detached' })
  await entry(page, 'film.webm').dblclick()
  await shown.locator('video').waitFor()
  await look('video')
  await page.keyboard.press('Escape')
  await shown.waitFor({ state: 'detached' })
  await entry(page, 'notes.txt').dblclick()
  await shown.getByText('A sentence').first().waitFor()
  await page.keyboard.press('Control+f')
  await page.keyboard.type('boats')
  await look('text')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await shown.waitFor({ state: 'detached' })
}

async function messages(page, say, look) {
  const lake = (name, hue) => ({ name, mimeType: 'image/png', buffer: png(480, 320, hue) })
  const pick = () => page.keyboard.press('Alt+u')
  await give(page, pick, [lake('lake 07-27.jpg', 0.5), lake('lake 07-26.jpg', 0.6)])
  const sheet = page.getByRole('dialog', { name: say.conflict })
  await sheet.waitFor()
  await until('the pictures', () => sheet.locator('img').evaluateAll((all) => all.every((one) => one.naturalWidth > 0)))
  await look('conflict')
  await sheet.getByRole('checkbox').check()
  await sheet.getByRole('button', { name: say.skipFile }).click()
  await sheet.waitFor({ state: 'detached' })
  await give(page, pick, [lake('new one.png', 0.2), lake(longName.replace('jpg', 'png'), 0.3)])
  await page.getByRole('heading', { name: say.uploaded(2) }).waitFor()
  await entry(page, 'notes.txt').focus()
  await page.keyboard.press('F2')
  await page.getByLabel(say.newName).fill('words.txt')
  await page.keyboard.press('Enter')
  const undo = page.getByRole('region', { name: say.notices }).getByRole('button', { name: say.undo })
  await undo.focus() // a message with the focus stays
  await look('messages')
}

// misfits returns faults that `cramped` does not find: rows of Photos that are not filled, months
// that are not in line with the title, parts of the viewer that cover each other, a picture that
// does not fill its space, lines that are too long, and, if `names` is true, names whose ends are
// cut off.
const misfits = (page, names) =>
  page.evaluate((names) => {
    const found = []
    const box = (element) => element.getBoundingClientRect()
    const seen = (selector, root = document) =>
      [...root.querySelectorAll(selector)].filter(
        (one) => one.checkVisibility({ visibilityProperty: true }) && box(one).width > 0,
      )
    const apart = (a, b) =>
      a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1

    const photos = seen('[data-index].photo').map(box)
    const ends = new Map() // the right end of each row
    for (const { top, right } of photos) ends.set(top, Math.max(ends.get(top) ?? 0, right))
    for (const { top, bottom } of photos)
      if ([...ends.keys()].some((next) => next > bottom && next < bottom + 8)) {
        const { right } = box(document.querySelector('[role=grid]'))
        if (Math.abs(ends.get(top) - right) > 2) found.push(`a row of Photos ends ${right - ends.get(top)} px early`)
      }
    const heading = seen('[role=rowheader] h2')[0]
    if (heading && Math.abs(box(heading).left - box(seen('main h1')[0]).left) > 1)
      found.push(`a month begins at ${box(heading).left} px, the title at ${box(seen('main h1')[0]).left} px`)

    const viewer = document.querySelector('dialog.whole[open]')
    if (viewer) {
      const parts = ['header', '.column > .stage', '.strip', ...(innerWidth > 640 ? ['aside'] : [])].flatMap((part) =>
        seen(part, viewer)
          .slice(0, 1)
          .map((one) => [part, box(one)]),
      )
      for (const [n, [part, one]] of parts.entries())
        for (const [other, two] of parts.slice(n + 1))
          if (!apart(one, two) && !(part === 'header' && other === 'aside')) found.push(`${part} is over ${other}`)
      const picture = seen('.current img.main', viewer)[0]
      if (picture) {
        const room = box(picture.closest('.column > .stage'))
        const one = box(picture)
        const margins = [one.left - room.left, room.right - one.right, one.top - room.top, room.bottom - one.bottom]
        const least = Math.min(...margins)
        if (least < 15.5) found.push(`the picture is ${least} px from the edge`)
        if (least > 16.5 && one.width < picture.naturalWidth - 1) found.push(`the picture leaves ${least} px`)
      }
      for (const text of seen('.page', viewer))
        for (const button of seen('.step', viewer))
          if (innerWidth > 640 && !apart(box(text), box(button))) found.push('a button is over the text')
    }
    for (const lines of seen('p, pre'))
      if (lines.textContent.length > 120 && box(lines).width > 960)
        found.push(`lines of ${Math.round(box(lines).width)} px: ${lines.textContent.slice(0, 40)}`)
    for (const end of names ? seen('a > .tail') : []) {
      const words = document.createRange()
      words.selectNodeContents(end)
      if (words.getBoundingClientRect().width > end.clientWidth + 1)
        found.push(`the end of the name ${end.parentElement.title} is cut off`)
    }
    return found
  }, names)

// watch adds up the layout shifts of each page of a session, in window.jumps.
export const watch = (page) =>
  page.addInitScript(() => {
    window.jumps = 0
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => (window.jumps += entry.value))).observe({
      type: 'layout-shift',
      buffered: true,
    })
  })

// walk shows one screen after the other and calls look with the name of each.
export async function walk(page, config, look) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const username = await config.ask('createAccount', { locale: config.language })
  const own = { ...config, username }
  await enter(page, own, '')
  const folder = await fill(page, own)
  await collections(page, say, folder, look)
  await list(page, say, look)
  await viewer(page, say, folder, look)
  await messages(page, say, look)
}

const still = ['photos', 'viewer', 'results', 'results as a list'] // the screens whose layout must not shift

// The elements that misfits checks in a screen, so a check of a missing element is a fault.
const checked = {
  folder: ['a > .tail'],
  photos: ['[data-index].photo', '[role=rowheader] h2', 'main h1'],
  viewer: ['header', '.column > .stage', '.current img.main'],
  'viewer with details': ['header', 'aside', '.current img.main'],
  video: ['header', '.column > .stage'],
  text: ['.page', '.step'],
}

// fits opens each screen in a first window, in which all entries are rendered, and checks it in
// windows of several widths. If `before` is given, fits calls it at each width to enlarge the text,
// and does not check the ends of names, for which large text leaves no space. It does not run axe
// then, because the result of axe does not depend on the size of the text. A short run leaves axe
// to the scenarios of the single screens.
async function fits(page, config, widths, before) {
  const found = []
  const { height } = page.viewportSize()
  const first = { width: widths[0], height: isPhone(config.size) ? 2400 : height }
  const least = isPhone(config.size) ? 44 : 24
  await watch(page)
  await page.setViewportSize(first)
  await walk(page, config, async (what) => {
    const jumps = await page.evaluate(() => window.jumps)
    for (const part of checked[what] ?? [])
      if ((await page.locator(part).count()) === 0) found.push(`${what}: there is no ${part}`)
    if (still.includes(what) && !(jumps <= 0.02)) found.push(`${what}: its layout shifts by ${jumps}`)
    for (const width of widths) {
      await page.setViewportSize({ width, height })
      await before?.(page)
      await drawn(page)
      for (const fault of [...(await cramped(page, config, least)), ...(await misfits(page, !before))])
        found.push(`${what}, ${width} px: ${fault}`)
      await config.shot(`screen-${what}-${width}`)
    }
    if (config.full && !before) found.push(...(await inspect(page)).map((fault) => `${what}: ${fault}`))
    await page.setViewportSize(first)
    await drawn(page)
  })
  equal('what does not fit', found, [])
}

const forPhones = (full) => (full ? small(full) : [])

export const scenarios = [
  {
    name: 'screens fit windows of all widths',
    forms: bothLanguages,
    run: (page, config) => fits(page, config, config.full ? [1440, 820, 1024, 2560] : [1024, 820, 2560]),
  },
  {
    name: 'screens fit phones',
    forms: forPhones,
    run: (page, config) => fits(page, config, [390, 320]),
  },
  {
    name: 'screens fit with large text',
    forms: forPhones,
    run: (page, config) => fits(page, config, [390], enlarge),
  },
]
