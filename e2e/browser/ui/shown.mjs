// What tiles, the viewer and the tray show, also when something is in the way: a session that has
// ended, a server that does not answer, a full storage, scroll bars.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFolder, enter } from './files.mjs'
import { bothLanguages, once } from './forms.mjs'
import { becomes, equal, launch, open, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { webm } from './media.mjs'
import { png, wave } from './pictures.mjs'
import { folders } from './places.mjs'

const picture = (name, hue) => ({ name, bytes: png(480, 320, hue).toString('base64') })
const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30"><path fill="#c2255c" d="M0 0h40v30z"/></svg>'

// The viewer asks for the sign-in when the session has ended, and shows the picture afterwards. The
// tree of folders, which is filled meanwhile, does not ask.
async function asks(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Ended', [picture('one.png', 0.2), picture('two.png', 0.7)])
  const ofTree = (url) => /^\/api\/files\?path=(%2F|\/)&type=folder/.test(url.pathname + url.search)
  let end
  const ended = new Promise((resolve) => (end = resolve))
  const held = []
  await page.route(ofTree, async (route) => {
    held.push(route.request())
    await ended
    await route.continue()
  })
  const tree = page.waitForResponse((answer) => held.includes(answer.request()))
  await page.goto(`/app/files${folder}`)
  const entry = page.getByRole('gridcell', { name: /^one\.png/ })
  await entry.waitFor()
  await page.context().clearCookies()
  end()
  equal('the answer to the tree', (await tree).status(), 401)
  await page.unroute(ofTree)
  await entry.dblclick()
  const lost = page.getByRole('dialog', { name: say.lost })
  await lost.waitFor()
  await signIn(page, config)
  await lost.waitFor({ state: 'detached' })
  const viewer = page.getByRole('dialog')
  const seen = (name) =>
    until(`the picture ${name}`, () =>
      viewer
        .getByRole('img', { name })
        .evaluateAll((images) => images.some((image) => image.complete && image.naturalWidth === 480)),
    )
  await seen('one.png')
  await page.keyboard.press('ArrowRight')
  await seen('two.png')
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })
  await until('the thumbnails', () =>
    page
      .locator('[role=grid] img')
      .evaluateAll(
        (images) => images.length === 2 && images.every((image) => image.complete && image.naturalWidth > 0),
      ),
  )
}

// A drawing is shown as a picture, in its folder and in the viewer; the player of a sound stands
// within its card.
async function shows(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Kinds', [
    { name: 'drawing.svg', bytes: btoa(drawing) },
    { name: 'song.wav', bytes: wave(5).toString('base64') },
  ])
  await page.goto(`/app/files${folder}`)
  const drawn = (images) => images.evaluateAll((all) => all.some((one) => one.complete && one.naturalWidth > 0))
  await page.getByRole('gridcell', { name: /^drawing\.svg/ }).waitFor()
  await until('the drawing in the folder', () => drawn(page.locator('[role=grid] img')))
  await config.shot('shown-folder')
  await page.getByRole('gridcell', { name: /^drawing\.svg/ }).dblclick()
  const viewer = page.getByRole('dialog')
  await until('the drawing', () => drawn(viewer.getByRole('img', { name: 'drawing.svg' })))
  await config.shot('shown-drawing')
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })
  await page.getByRole('gridcell', { name: /^song\.wav/ }).dblclick()
  await viewer.locator('audio').waitFor()
  const [outer, inner] = await viewer.locator('audio').evaluate((audio) => {
    const card = audio.closest('.card')
    const { paddingLeft, paddingRight } = getComputedStyle(card)
    const box = card.getBoundingClientRect()
    const own = audio.getBoundingClientRect()
    return [
      [box.left + parseFloat(paddingLeft), box.right - parseFloat(paddingRight)],
      [own.left, own.right],
    ]
  })
  await config.shot('shown-sound')
  equal('whether the player stands within its card', inner[0] >= outer[0] && inner[1] <= outer[1], true)
}

// The tile of a folder shows the first pictures in it, at most four, and no other files.
async function covers(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Covers', [])
  const some = (count) => Array.from({ length: count }, (_, n) => picture(`${n}.png`, n / 6))
  const text = { name: 'text.txt', bytes: btoa('no picture') }
  const held = Object.entries({ none: 0, one: 1, two: 2, three: 3, six: 6 })
  for (const [name, count] of held) await createFolder(page, config, name, [text, ...some(count)], folder)
  await page.goto(`/app/files${folder}`)
  const shown = (name) =>
    page
      .getByRole('gridcell', { name: new RegExp(`^${name}`) })
      .locator('img')
      .evaluateAll((all) => all.filter((one) => one.complete && one.naturalWidth > 0).length)
  for (const [name, count] of held)
    await becomes(`the pictures of the folder ${name}`, () => shown(name), Math.min(count, 4))
  const tile = await page.getByRole('gridcell', { name: /^six/ }).evaluate((cell) => {
    const [first, ...others] = [...cell.querySelectorAll('img')].map((one) => one.getBoundingClientRect())
    const apart = others.every(({ left, top }) => left >= first.right || top >= first.bottom)
    return { apart, rows: new Set(others.map(({ top }) => Math.round(top))).size }
  })
  equal('the four pictures', tile, { apart: true, rows: 2 })
  await config.shot('folder-covers')
}

// A stopped video goes on at its position when the user opens it again, unless it was nearly over.
async function resumes(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Films', [{ name: 'long.webm', bytes: webm(20).toString('base64') }])
  await page.goto(`/app/files${folder}`)
  const viewer = page.getByRole('dialog')
  const video = viewer.locator('video')
  const play = () => video.evaluate((one) => ((one.muted = true), one.play()))
  const open = async () => {
    await page.getByRole('gridcell', { name: /^long\.webm/ }).dblclick()
    await page.waitForFunction(() => document.querySelector('dialog video')?.readyState >= 1)
  }
  const close = async () => {
    await page.keyboard.press('Escape')
    await viewer.waitFor({ state: 'detached' })
  }
  const stop = async (at) => {
    await play()
    await video.evaluate((one, at) => {
      one.currentTime = at
      one.pause()
    }, at)
  }
  const position = () => video.evaluate((one) => Math.floor(one.currentTime))
  await open()
  equal('the first position', await position(), 0)
  await stop(8)
  await close()
  await page.reload()
  await open()
  await becomes('the position where it was stopped', position, 8)
  await stop(17)
  await close()
  await open()
  equal('the position after a stop near the end', await position(), 0)
  await video.evaluate((one) => void (one.currentTime = 14))
  await close()
  await open()
  await becomes('the position that was chosen without playing', position, 14)
}

// A video plays at the chosen speed, and above other windows until the user takes it back.
async function floats(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Apart', [{ name: 'one.webm', bytes: webm(20).toString('base64') }])
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^one\.webm/ }).dblclick()
  await page.waitForFunction(() => document.querySelector('dialog video')?.readyState >= 2)
  const viewer = page.getByRole('dialog')
  const video = viewer.locator('video')
  await viewer.getByLabel(say.speed).selectOption({ label: '1.5×' })
  await becomes('the speed', () => video.evaluate((one) => one.playbackRate), 1.5)
  const button = viewer.getByRole('button', { name: say.pictureInPicture })
  const apart = () => video.evaluate((one) => document.pictureInPictureElement === one)
  for (const want of [true, false]) {
    await button.click()
    await becomes('whether the video is apart', apart, want)
    await becomes('whether the button is pressed', () => button.getAttribute('aria-pressed'), String(want))
  }
  await button.click()
  await becomes('whether the video is apart', apart, true)
  await video.evaluate(() => document.exitPictureInPicture()) // as the button of its window does
  await becomes('whether the button is pressed', () => button.getAttribute('aria-pressed'), 'false')
}

// Scroll bars of the page do not stand beside the viewer, and those of a menu cut no entry of it.
async function scrolls(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const names = Array.from({ length: 60 }, (_, n) => `box ${n}`)
  const folder = await createFolder(page, config, 'Bars', [picture('one.png', 0.4)])
  await folders(page, folder, names)
  const few = await createFolder(page, config, 'Few', [picture('two.png', 0.6)])
  const browser = await launch('--show-scrollbars')
  try {
    const other = await open(browser, { base: config.base, storageState: await page.context().storageState() })
    await other.setViewportSize({ width: 1100, height: 420 })
    await other.goto(`/app/files${folder}`)
    await other.getByRole('gridcell', { name: 'box 1', exact: false }).first().waitFor()
    const bar = () => other.evaluate(() => innerWidth - document.documentElement.clientWidth)
    equal('whether the page has a scroll bar', (await bar()) > 0, true)
    const width = await other.getByRole('grid').evaluate((grid) => grid.clientWidth)

    await other.getByRole('button', { name: say.display }).click()
    const menu = other.getByRole('menu', { name: say.display })
    const cut = await menu.evaluate((menu) => {
      const scroller = [menu, ...menu.querySelectorAll('*')].find((one) => one.scrollHeight > one.clientHeight + 1)
      const { left } = scroller.getBoundingClientRect()
      const right = left + scroller.clientLeft + scroller.clientWidth
      const round = parseFloat(getComputedStyle(menu).borderTopLeftRadius)
      const outer = menu.getBoundingClientRect()
      const inner = scroller.getBoundingClientRect()
      return {
        wider: [...menu.querySelectorAll('[role^=menuitem]')].filter(
          (item) => item.getBoundingClientRect().right > right || item.scrollWidth > item.clientWidth,
        ).length,
        wrapped: [...menu.querySelectorAll('[role^=menuitem]')].filter((item) => item.offsetHeight > 40).length,
        sideways: scroller.scrollWidth > scroller.clientWidth,
        corner: inner.top - outer.top < round / 4,
      }
    })
    await config.shot('bars')
    equal('what the scroll bar cuts', cut, { wider: 0, wrapped: 0, sideways: false, corner: false })
    await other.keyboard.press('Escape')

    await other.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    const scroll = await other.evaluate(() => scrollY)
    await other.getByRole('gridcell', { name: /^one\.png/ }).dblclick()
    const viewer = other.getByRole('dialog')
    await viewer.waitFor()
    equal(
      'the width of the viewer',
      await viewer.evaluate((dialog) => [dialog.getBoundingClientRect().width, innerWidth]),
      [1100, 1100],
    )
    equal(
      'the width of the page behind it',
      await other.locator('[role=grid]').evaluate((grid) => grid.clientWidth),
      width,
    )
    if (config.shots) await other.screenshot({ path: `${config.shots}/bars-viewer.png` })
    await other.keyboard.press('Escape')
    await viewer.waitFor({ state: 'detached' })
    equal('the scroll position afterwards', await other.evaluate(() => scrollY), scroll)
    equal('whether the scroll bar is back', (await bar()) > 0, true)

    // a page without a scroll bar keeps its width too, also behind a dialog of the viewer
    await other.goto(`/app/files${few}`)
    await other.getByRole('gridcell', { name: /^two\.png/ }).waitFor()
    const short = () => other.locator('[role=grid]').evaluate((grid) => [grid.clientWidth, grid.offsetLeft])
    const before = await short()
    await other.getByRole('gridcell', { name: /^two\.png/ }).dblclick()
    await viewer.waitFor()
    equal('the short page behind the viewer', await short(), before)
    await viewer.getByRole('button', { name: say.share, exact: true }).click()
    await other.getByRole('dialog', { name: say.shareTitle }).waitFor()
    equal('the short page behind a dialog of the viewer', await short(), before)
  } finally {
    await browser.close()
  }
}

// limit sets the account's storage in bytes above what is used; undefined for no limit.
const limit = (page, username, more) =>
  page.evaluate(
    async ({ username, more }) => {
      const get = async (path) => (await (await fetch(path)).json()).data
      const { token } = await get('/api/auth/csrf-token')
      const { users } = await get(`/api/admin/users?search=${username}`)
      const { id } = users.find((one) => one.username === username)
      const { quota } = await get('/api/users/me/settings')
      const headers = { 'X-CSRF-Token': token, 'Content-Type': 'application/json' }
      const maxStorage = more === undefined ? -1 : quota.usedStorage + more
      const answer = await fetch(`/api/admin/users/${id}`, {
        method: 'PUT',
        headers,
        body: JSON.stringify({ maxStorage }),
      })
      if (!answer.ok) throw new Error(await answer.text())
      return maxStorage
    },
    { username, more },
  )

// At a full storage the tray and the navigation show what is used, the tray counts nothing any
// more, and what has arrived stays in it when the rest is cancelled.
async function fills(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const KiB = 1024
  const folder = await createFolder(page, config, 'Full', [])
  try {
    await limit(page, config.username, 1000 * KiB)
    await page.goto(`/app/files${folder}`)
    await page.getByText(say.emptyFolder).waitFor()
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('main').getByRole('button', { name: say.upload, exact: true }).first().click(),
    ])
    await chooser.setFiles(
      Array.from({ length: 6 }, (_, n) => ({
        name: `${n}.bin`,
        mimeType: 'image/x-none',
        buffer: Buffer.alloc(300 * KiB, n),
      })),
    )
    const tray = page.getByRole('region', { name: say.uploads })
    await tray.getByRole('heading', { name: say.full }).waitFor()
    // three files of 300 KiB fit, and three more need 900 KiB, where 100 are free
    await tray.getByText(say.needs('800 KB')).waitFor()
    await tray.getByText(say.stopped, { exact: true }).waitFor()
    const used = await page.evaluate(async () => (await (await fetch('/api/users/me/settings')).json()).data.quota)
    const share = Math.round((used.usedStorage / used.maxStorage) * 100)
    const meter = page.getByRole('meter', { name: say.storage })
    await until(
      'the storage in the navigation',
      async () => Number(await meter.getAttribute('aria-valuenow')) === share,
    )
    await config.shot('full')
    await tray.getByRole('button', { name: say.cancelAll }).click()
    await page.getByRole('dialog').getByRole('button', { name: say.stopUploads }).click()
    await tray.getByRole('heading', { name: say.uploaded(3) }).waitFor()
    await tray.getByRole('button', { name: say.clearList }).click()
    await tray.waitFor({ state: 'detached' })
    await limit(page, config.username)
    await page.reload()
    await page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: say.used }).waitFor()
    equal('the bars of a storage without a limit', await meter.count(), 0)
    await config.shot('unlimited')
  } finally {
    await limit(page, config.username)
  }
}

// A file that is sent in parts shows its part and the percentage of its bytes.
async function counts(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Parts', [])
  await page.goto(`/app/files${folder}`)
  await page.getByText(say.emptyFolder).waitFor()
  // the last part waits
  await page.route('**/part/3', () => undefined)
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('main').getByRole('button', { name: say.upload, exact: true }).first().click(),
  ])
  const dir = await mkdtemp(join(tmpdir(), 'larder-parts-'))
  try {
    await writeFile(join(dir, 'film.bin'), Buffer.alloc(20 * 2 ** 20))
    await chooser.setFiles(join(dir, 'film.bin'))
    const tray = page.getByRole('region', { name: say.uploads })
    await tray.getByText('20 MB · 80% · part 2/3').waitFor()
    await tray.getByRole('button', { name: say.cancelAll }).click()
    await page.getByRole('dialog').getByRole('button', { name: say.stopUploads }).click()
    await tray.waitFor({ state: 'detached' })
  } finally {
    await rm(dir, { recursive: true })
  }
}

export const scenarios = [
  { name: 'asks for the sign-in when a picture is opened', forms: once, run: asks },
  { name: 'shows drawings and players', forms: bothLanguages, run: shows },
  { name: 'shows the pictures of a folder on its tile', forms: once, run: covers },
  { name: 'goes on with a video where it was stopped', forms: once, run: resumes },
  { name: 'plays a video above other windows', forms: once, run: floats },
  { name: 'keeps scroll bars apart', forms: once, run: scrolls },
  { name: 'tells of a full storage', forms: bothLanguages, run: fills },
  { name: 'counts the bytes of parts', forms: once, run: counts },
]
